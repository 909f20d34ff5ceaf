# SPDX-License-Identifier: Apache-2.0
"""The recorded exchanges, replayed: status, selected headers and body must be equal."""

from __future__ import annotations

import attrs
import pytest
from kit.contract.deviations import DEVIATIONS, Part
from kit.contract.recorded import Answer, Replay, exchanges, without

# Fields with texts for people: messages, and the descriptions of table columns. Deviations in wording are in these.
WORDS = ("message", "description")
FORGOTTEN = "watch: a version that is gone"


def comparable(answer: Answer, *but: str) -> Answer:
    return attrs.evolve(answer, body=without(answer.body, *but))


@pytest.mark.parametrize("name", [exchange.id for exchange in exchanges()])
def test_answer_is_the_recorded_one(name: str, replay: Replay, is_embedded: bool) -> None:
    expected, actual = replay[name]
    deviation = DEVIATIONS.get(name) if is_embedded else None

    if name == FORGOTTEN and not is_embedded and actual.body[0]["type"] != "ERROR":
        pytest.skip("this server is too young to have forgotten version 1: its cache still has the first leases")
    if deviation is None:
        assert comparable(actual) == comparable(expected)
    else:
        assert comparable(actual) != comparable(expected), f"deviates no longer: {deviation.reason}"
    if deviation is not None and deviation.part is Part.WORDING:
        assert comparable(actual, *WORDS) == comparable(expected, *WORDS)


def test_every_deviation_is_of_a_recorded_exchange() -> None:
    assert DEVIATIONS.keys() <= {exchange.id for exchange in exchanges()}
