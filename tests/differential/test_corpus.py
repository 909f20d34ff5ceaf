# SPDX-License-Identifier: Apache-2.0
"""The embedded server answers the requests of the corpus as the real one did, but for known differences."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from kit.contract.engines import WITH_RE2

from differential.corpus import Case, answers, heaviest, known, load, replayed
from differential.servers import Embedded

CASES = load()
RECORDED, KNOWN = answers(), known()
BEYOND_THE_SUBSET = ("pattern that ends in a class",)
"""Cases with patterns that only google-re2 matches."""


@pytest.fixture(scope="module")
def embedded() -> Iterator[Embedded]:
    """One server for all cases; each has a namespace and a group of its own."""
    with contextlib.closing(Embedded()) as server:
        yield server


@pytest.mark.parametrize(
    ("number", "case"),
    [
        pytest.param(number, case, id=case.name, marks=WITH_RE2 if case.name in BEYOND_THE_SUBSET else ())
        for number, case in enumerate(CASES)
    ],
)
def test_an_answer_is_that_of_a_real_server(embedded: Embedded, number: int, case: Case) -> None:
    found = replayed(case, embedded, RECORDED[case.name], f"corpus-{number}")

    told = "\n".join(f"{one.number} {one.where}: {one.ours!r} for {one.real!r}" for one in found)
    is_known = KNOWN[case.name].number if case.name in KNOWN else ""
    advice = "if it differs less than it did: python tests/tools/differences.py --prune"
    assert heaviest(found) == is_known, f"{advice}\n{case.request}\n{told}"


def test_each_case_has_a_name_and_a_recorded_answer_of_its_own() -> None:
    names = [case.name for case in CASES]

    assert len(set(names)) == len(names)
    assert set(RECORDED) == set(names)
    assert set(KNOWN) <= set(names)
