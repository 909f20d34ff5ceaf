# SPDX-License-Identifier: Apache-2.0
"""The member of a ring is the state machine that its guide draws."""

from __future__ import annotations

import re
from pathlib import Path

from controller_runtime.ring.state import TRANSITIONS

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "ring.md").read_text(encoding="utf-8")


def test_the_diagram_of_the_guide_shows_exactly_the_changes_there_are() -> None:
    arrows = re.findall(r"^    (\w+) --> (\w+):", GUIDE, re.MULTILINE)

    assert sorted(arrows) == sorted((before.__name__, after.__name__) for before, after in TRANSITIONS)
