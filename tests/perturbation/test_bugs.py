# SPDX-License-Identifier: Apache-2.0
"""The 37 direct bugs that Sieve (OSDI'22) found in ten operators, small: each is found, and its mended form is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from kit.perturbation.miniatures import Bug, Operator, beside, setup_of

from controller_runtime import Manager
from controller_runtime.testing.perturbation.trial import Outcome, perturb

pytestmark = pytest.mark.once

FOLDER = Path(__file__).parent / "bugs"
BUGS: dict[str, Bug] = {
    path.stem: import_module(f"perturbation.bugs.{path.stem}").BUG for path in sorted(FOLDER.glob("[a-z]*.py"))
}

each_bug = pytest.mark.parametrize("name", BUGS)


def tried(bug: Bug, form: Callable[[Manager], Operator], **options: Any) -> Outcome:
    return perturb(setup_of(form), bug.tell, beside=beside, garbage_collection=True, **options)


def test_the_list_is_that_of_sieve() -> None:
    assert Counter(bug.pattern for bug in BUGS.values()) == {"crash": 11, "stale": 19, "missed": 7}
    assert len({bug.source for bug in BUGS.values()}) == len(BUGS)


@each_bug
def test_a_bug_is_found_by_its_pattern_and_not_in_its_mended_form(name: str) -> None:
    bug = BUGS[name]

    found = tried(bug, bug.buggy, patterns=[bug.pattern], until_found=True).findings
    assert found, "no plan finds it"

    mended = tried(bug, bug.mended, plans=[each.plan for each in found])
    assert not mended.findings


@pytest.mark.long
@each_bug
def test_a_mended_operator_is_complained_of_under_no_plan(name: str) -> None:
    outcome = tried(BUGS[name], BUGS[name].mended)

    assert outcome.run == outcome.planned > outcome.void
    assert not outcome.findings
