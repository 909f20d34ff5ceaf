# SPDX-License-Identifier: Apache-2.0
"""The list of planted bugs fits the code: each can still be planted, and the tests that must find it are there."""

from __future__ import annotations

import ast

import pytest
from kit import planted_bugs

pytestmark = pytest.mark.once

BUGS = planted_bugs.bugs()


def test_names_are_given_once_and_there_are_bugs() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) > 40


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_each_bug_can_be_planted_and_leaves_code_that_compiles(bug: planted_bugs.Bug) -> None:
    for each in bug.replacements:
        text = (planted_bugs.ROOT / each.file).read_text(encoding="utf-8")

        changed = each.planted_in(text)

        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), "it changes nothing"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_tests_that_must_find_a_bug_are_there(bug: planted_bugs.Bug) -> None:
    assert bug.tests
    for test in bug.tests:
        file, _, name = test.partition("::")
        assert not name or f"def {name}(" in (planted_bugs.ROOT / file).read_text(encoding="utf-8")
        assert (planted_bugs.ROOT / file).is_file()


def test_a_text_that_is_not_found_once_is_refused() -> None:
    bug = BUGS[0]._replace(old="import ")

    with pytest.raises(ValueError, match="not once"):
        bug.planted_in("import a\nimport b\n")
