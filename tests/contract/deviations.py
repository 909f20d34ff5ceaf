# SPDX-License-Identifier: Apache-2.0
"""Where the embedded server answers otherwise than the real one did, each with its reason."""

from __future__ import annotations

import enum

import attrs


class Part(enum.Enum):
    """How far an answer deviates."""

    WORDING = "its message for people"
    ANSWER = "all of it"


@attrs.frozen
class Deviation:
    """One exchange that is answered otherwise."""

    part: Part
    reason: str


DEVIATIONS: dict[str, Deviation] = {}
