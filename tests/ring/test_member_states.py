# SPDX-License-Identifier: Apache-2.0
"""The member of a ring is the state machine that its guide draws."""

from __future__ import annotations

import re
from pathlib import Path

from controller_runtime.ring.state import TRANSITIONS

DIAGRAM = (Path(__file__).resolve().parents[2] / "docs" / "pictures" / "diagram-ring-states.svg").read_text("utf-8")


def test_the_diagram_of_the_guide_tells_exactly_the_changes_there_are() -> None:
    arrows = re.findall(r"^    (\w+) --&gt; (\w+):", DIAGRAM, re.MULTILINE)

    assert sorted(arrows) == sorted((before.__name__, after.__name__) for before, after in TRANSITIONS)
