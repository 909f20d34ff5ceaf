# SPDX-License-Identifier: Apache-2.0
"""The embedded server answers as an older release what the real server of that release answered.

The requests are those of the corpus; some are drawn at random for each release, and `-m long` plays them all.
"""

from __future__ import annotations

import contextlib
import random

import pytest

from differential.corpus import Case, Known, answers, heaviest, known, load, recorded_releases, replayed
from differential.servers import Embedded

DRAWN = 60


def told(release: str, cases: list[Case]) -> list[str]:
    """Return how the answers to some cases differ from the recorded ones otherwise than is known."""
    expected, reasons, found = answers(release), known(release), []
    with contextlib.closing(Embedded(release=release)) as embedded:
        for number, case in enumerate(cases):
            differing = replayed(case, embedded, expected[case.name], f"release-{number}")
            if heaviest(differing) != reasons.get(case.name, Known("", "")).number:
                found.append(
                    f"{case.name}: {[f'{one.number} {one.where}: {one.ours} for {one.real}' for one in differing]}"
                )
    return found


@pytest.mark.parametrize("release", recorded_releases())
def test_answers_drawn_at_random_are_those_of_the_release(release: str) -> None:
    assert not told(release, random.Random(release).sample(load(), DRAWN))


@pytest.mark.long
@pytest.mark.parametrize("release", recorded_releases())
def test_all_answers_are_those_of_the_release(release: str) -> None:
    assert not told(release, load())


@pytest.mark.parametrize("release", recorded_releases())
def test_known_differences_are_those_of_cases(release: str) -> None:
    assert set(known(release)) <= {case.name for case in load()}
