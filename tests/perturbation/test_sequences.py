# SPDX-License-Identifier: Apache-2.0
"""Sequences of declared states find a dozen bugs that Acto found in operators, and none in their mended forms."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from kit.perturbation.declaring import Bug

from controller_runtime.testing.perturbation.sequence import may_stay
from embedded_apiserver.perturbation import Name

pytestmark = pytest.mark.ends

_FILES = sorted((Path(__file__).parent / "sequences").glob("*.py"))
BUGS: list[Bug] = [import_module(f"perturbation.sequences.{file.stem}").BUG for file in _FILES]


COMPLETE = {"type": "Complete", "status": "True"}


@pytest.mark.parametrize(
    ("resource", "status", "stays"),
    [
        ("persistentvolumeclaims", {}, True),
        ("jobs.batch", {"conditions": [COMPLETE]}, True),
        ("jobs.batch", {"conditions": [{**COMPLETE, "status": "False"}]}, False),
        ("jobs.batch", {}, False),
        ("pods", {"phase": "Succeeded"}, True),
        ("pods", {"phase": "Running"}, False),
        ("configmaps", {"conditions": [COMPLETE]}, False),
    ],
)
def test_data_and_finished_work_of_an_earlier_state_may_stay(
    resource: str, status: dict[str, Any], stays: bool
) -> None:
    assert may_stay(Name(resource, "default/a"), [{"status": status}]) == stays


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.source)
def test_each_bug_is_found(bug: Bug) -> None:
    found = bug.explore(bug.buggy, 40).findings

    assert [each for each in found if any(text.startswith(bug.shown) for text in each.complaints)]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.source)
def test_no_mended_form_is_complained_of(bug: Bug) -> None:
    explored = bug.explore(bug.mended, 4)

    assert explored.run
    assert not explored.findings


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.source)
def test_no_mended_form_is_complained_of_in_many_sequences(bug: Bug, seed: int) -> None:
    assert not bug.explore(bug.mended, 100, seed).findings
