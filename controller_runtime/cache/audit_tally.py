# SPDX-License-Identifier: Apache-2.0
"""The findings of the audit of one cache."""

from __future__ import annotations

import attrs


@attrs.define
class AuditTally:
    """Counts of an audit. Threads: written by that of the audit; read from any.

    Attributes:
        pages: Pages that were compared.
        objects: Objects on them.
        expired: Pages that could not be had, because the server had forgotten their version.
        lost: Objects that the cache did not hold as the server did.
    """

    pages: int = 0
    objects: int = 0
    expired: int = 0
    lost: int = 0
