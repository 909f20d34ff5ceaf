# SPDX-License-Identifier: Apache-2.0
"""The order of preference of the versions of a group."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
# From the most to the least stable, which is the order of preference.
_STAGES = ("", "beta", "alpha")


def rank(version: str) -> tuple[int, int, int, str]:
    """Return the sort key of an API version: `v1` before betas and alphas, newer before older ones, other names
    last.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return len(_STAGES), 0, 0, version
    major, stage, minor = match.groups()
    return _STAGES.index(stage or ""), -int(major), -int(minor or 0), version
