# SPDX-License-Identifier: Apache-2.0
"""The reflector's policy, by itself: a table of failures, and no loop without a wait."""

from __future__ import annotations

import pytest

from controller_runtime.cache.recovery import Failure, Recovery, State, classify, recovery
from controller_runtime.core.errors import (
    APIError,
    ConnectionLost,
    DecodeError,
    Expired,
    Forbidden,
    ServerError,
    StreamIdle,
    TooManyRequests,
)


@pytest.mark.parametrize(
    ("error", "failure_"),
    [
        pytest.param(Expired("", code=410), Failure.VERSION, id="expired"),
        pytest.param(ServerError("Too large resource version", code=504), Failure.VERSION, id="too large"),
        pytest.param(TooManyRequests("", code=429), Failure.BUSY, id="too many requests"),
        pytest.param(ConnectionLost(""), Failure.BUSY, id="connection lost"),
        pytest.param(ServerError("", code=503), Failure.BUSY, id="unavailable"),
        pytest.param(StreamIdle(""), Failure.OTHER, id="silence"),
        pytest.param(ServerError("", code=500), Failure.OTHER, id="internal error"),
        pytest.param(ServerError("", code=500, reason="StorageReadError"), Failure.EVENT, id="unreadable in storage"),
        pytest.param(Forbidden("", code=403), Failure.OTHER, id="forbidden"),
        pytest.param(APIError("", code=418), Failure.OTHER, id="anything"),
        pytest.param(DecodeError(""), Failure.OTHER, id="no list"),
    ],
)
def test_failures_are_told_apart_by_what_they_say_about_the_question(error: APIError, failure_: Failure) -> None:
    assert classify(error) is failure_


@pytest.mark.parametrize("fruitless", [1, 2, 9])
@pytest.mark.parametrize("relist", [State.STREAMING, State.LISTING])
@pytest.mark.parametrize("state", State)
def test_no_failure_loops_without_a_wait(state: State, relist: State, fruitless: int) -> None:
    for failure_ in Failure:
        seen: set[tuple[State, bool]] = set()
        at, most_recent, waited = state, False, False
        while not waited:
            assert (at, most_recent) not in seen, f"{failure_} goes round in {at} without a wait"
            seen.add((at, most_recent))
            at, waited, wanted = recovery(at, failure_, relist=relist, fruitless=fruitless, most_recent=most_recent)
            most_recent = most_recent or wanted


@pytest.mark.parametrize("relist", [State.STREAMING, State.LISTING])
def test_an_event_that_the_server_cannot_read_is_made_up_for_by_a_list(relist: State) -> None:
    """The same watch would meet it again, so the first such failure lists; one of a list is like any other."""

    def after(state: State) -> Recovery:
        return recovery(state, Failure.EVENT, relist=relist, fruitless=1, most_recent=False)

    assert after(State.WATCHING) == Recovery(relist)
    assert after(State.LISTING) == Recovery(State.LISTING)
    assert after(State.STREAMING) == Recovery(State.LISTING, wait=False)


def test_recovery_defaults_to_waiting() -> None:
    assert Recovery(State.LISTING) == (State.LISTING, True, False)
