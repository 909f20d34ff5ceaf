# SPDX-License-Identifier: Apache-2.0
"""The findings of the audit of one cache."""

from __future__ import annotations

import attrs


@attrs.define
class AuditTally:
    """Counts of an audit. Threads: the thread of the audit writes, any thread reads.

    Attributes:
        pages: The number of pages that were compared.
        objects: The number of objects on these pages.
        expired: The number of pages that the server could not give, because it no longer had their version.
        lost: The number of objects that the cache lacked, had in an older version than the server, or still had after
            their deletion.
    """

    pages: int = 0
    objects: int = 0
    expired: int = 0
    lost: int = 0
