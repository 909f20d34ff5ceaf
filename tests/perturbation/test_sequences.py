# SPDX-License-Identifier: Apache-2.0
"""Sequences of declared states find a dozen bugs that Acto found in operators, and none in their mended forms."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from kit.perturbation.declaring import Bug

_FILES = sorted((Path(__file__).parent / "sequences").glob("*.py"))
BUGS: list[Bug] = [import_module(f"perturbation.sequences.{file.stem}").BUG for file in _FILES]


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
