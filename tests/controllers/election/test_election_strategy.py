# SPDX-License-Identifier: Apache-2.0
"""The candidate that should lead, and the strategy, are decided from values alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.controllers.candidates import CANDIDATES, candidate, later

from apimachinery.semver import SemVer, parse, parse_tolerant
from controllers.election.strategy import Candidate, Disagreement, oldest_emulation_version, strategy_of


@pytest.mark.scenario("CE-11", "D-19", "D-20", "D-21", "D-22", "D-23")
@pytest.mark.parametrize(
    ("candidates", "leads"),
    [
        pytest.param([candidate("a", "1.30.0", "1.19.0"), candidate("b", "1.30.0", "1.2.0")], "b", id="D-20 numbers"),
        pytest.param([candidate("a", "1.21.0", "1.20.0"), candidate("b", "1.20.0")], "b", id="D-21 lower binary"),
        pytest.param(
            [candidate("a", "1.20.0", created=later(1)), candidate("b", "1.20.0")], "b", id="D-22 the earlier one"
        ),
        pytest.param([candidate("b", "1.20.0"), candidate("a", "1.20.0")], "a", id="full tie: by name"),
        pytest.param([candidate("a", "1.31.0"), candidate("b", "1.31.0", "v1.30")], "b", id="D-23 tolerant"),
        pytest.param([candidate("a", "1.20.0", "one"), candidate("b", "1.21.0")], "b", id="unreadable emulation"),
        pytest.param([candidate("a", "one", "1.20.0"), candidate("b", "1.21.0")], "b", id="unreadable binary"),
        pytest.param([candidate("a", "", "")], None, id="nobody"),
        pytest.param([], None, id="none at all"),
        pytest.param([candidate("a", "1.20.0"), candidate("b", "1.20.0-rc.1")], "b", id="a preview is older"),
    ],
)
def test_the_oldest_emulation_leads(candidates: list[Candidate], leads: str | None) -> None:
    """The lowest emulation version leads, then the lowest binary, the earliest, the name; invalid versions never."""
    assert oldest_emulation_version(candidates) == leads
    assert oldest_emulation_version(reversed(candidates)) == leads


@pytest.mark.scenario("CE-12", "D-18", "D-19")
@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        pytest.param({"1.31.0": "A"}, "A", id="one"),
        pytest.param({"1.31.0": "A", "1.32.0": "A"}, "A", id="the same everywhere"),
        pytest.param({"1.32.0": "A", "1.31.0": "B"}, "A", id="D-18 the newest decides"),
        pytest.param({"1.1.10": "A", "1.1.2": "B"}, "A", id="D-19 by number, not by text"),
        pytest.param({"nonsense": "B", "0.0.1": "A"}, "A", id="unreadable is the lowest"),
    ],
)
def test_the_newest_binary_chooses_the_strategy(versions: dict[str, str], expected: str) -> None:
    """The strategy is that of the newest binary, in whatever order the candidates come."""
    candidates = [candidate(v, v, strategy=s) for v, s in versions.items()]

    assert strategy_of(candidates) == strategy_of(reversed(candidates)) == expected


@pytest.mark.scenario("CE-12")
def test_candidates_of_the_newest_version_have_to_agree() -> None:
    """Two strategies at the highest binary version are an error, which names both."""
    with pytest.raises(Disagreement, match=r"1\.32\.0 want A and B"):
        strategy_of([candidate("a", "1.32.0", strategy="A"), candidate("b", "1.32.0", strategy="B")])


def test_a_conflict_among_older_versions_is_none_in_any_order() -> None:
    older = [candidate("a", "1.31.0", strategy="A"), candidate("b", "1.31.0", strategy="B")]
    newest = candidate("c", "1.32.0", strategy="C")

    for order in ([*older, newest], [newest, *older], [older[0], newest, older[1]]):
        assert strategy_of(order) == "C"


@given(CANDIDATES, st.randoms(use_true_random=False))
def test_the_winner_does_not_depend_on_the_order(candidates: list[Candidate], chance: Any) -> None:
    shuffled = chance.sample(candidates, len(candidates))

    assert oldest_emulation_version(shuffled) == oldest_emulation_version(candidates)
    assert strategy_or_conflict(shuffled) == strategy_or_conflict(candidates)


def strategy_or_conflict(candidates: list[Candidate]) -> str:
    try:
        return strategy_of(candidates) if candidates else ""
    except Disagreement as error:
        return str(error)


@pytest.mark.parametrize(
    ("text", "strict", "tolerant"),
    [
        pytest.param("1.2.3", (1, 2, 3), (1, 2, 3), id="plain"),
        pytest.param("v1.2.3", None, (1, 2, 3), id="v"),
        pytest.param(" 1.2 ", None, (1, 2, 0), id="short, blanks"),
        pytest.param("1", None, (1, 0, 0), id="major alone"),
        pytest.param("01.002.3", None, (1, 2, 3), id="leading zeros"),
        pytest.param("1.2-beta", None, None, id="short with a preview"),
        pytest.param("1.2.3.4", None, None, id="four parts"),
        pytest.param("1.2.x", None, None, id="a letter"),
        pytest.param("", None, None, id="nothing"),
        pytest.param("1.2." + "9" * 5000, None, None, id="beyond any integer"),
        pytest.param("1.2.3+build", (1, 2, 3), (1, 2, 3), id="build metadata"),
    ],
)
def test_versions_are_read_strictly_or_as_people_write_them(text: str, strict: object, tolerant: object) -> None:
    assert parse(text) == (strict and SemVer(*strict))  # type: ignore[misc]
    assert parse_tolerant(text) == (tolerant and SemVer(*tolerant))  # type: ignore[misc]


def test_previews_are_in_the_order_of_semantic_versions() -> None:
    order = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0"]

    versions = [parse(text) for text in order]

    assert None not in versions
    assert sorted(versions, reverse=True)[::-1] == versions  # type: ignore[type-var]
    assert parse("1.0.0+a") == parse("1.0.0+b") == parse("1.0.0")
