# SPDX-License-Identifier: Apache-2.0
"""Published bugs of operators' dealing with the outside, small: each is found, and its mended form is quiet."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from kit.perturbation.miniatures import beside, setup_of
from kit.perturbation.outsides import OutsideBug

from controller_runtime import Manager
from controller_runtime.testing.perturbation.trial import Outcome, perturb

pytestmark = pytest.mark.once

FOLDER = Path(__file__).parent / "outsides"
BUGS: dict[str, OutsideBug] = {
    path.stem: import_module(f"perturbation.outsides.{path.stem}").BUG for path in sorted(FOLDER.glob("[a-z]*.py"))
}


def tried(bug: OutsideBug, form: Any) -> Outcome:
    def setup(manager: Manager, things: Any) -> None:
        setup_of(lambda manager: form(manager, things))(manager)

    return perturb(setup, bug.tell, beside=beside, outside=bug.outside, patterns=["crash", "outside"])


def test_each_bug_has_a_source_of_its_own() -> None:
    assert len({bug.source for bug in BUGS.values()}) == len(BUGS) == 15


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found_by_its_fault_and_no_plan_complains_of_its_mended_form(name: str) -> None:
    bug = BUGS[name]
    buggy, mended = tried(bug, bug.buggy), tried(bug, bug.mended)

    found = [str(each.plan) for each in buggy.findings]
    assert any(text.startswith(bug.fault) for text in found), found
    assert [(str(each.plan), *each.complaints) for each in mended.findings] == []
    assert mended.run == mended.planned > mended.void
    assert (mended.unjudged, mended.not_compared) == (0, "")
