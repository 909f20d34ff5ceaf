# SPDX-License-Identifier: Apache-2.0
"""The reflector's policy, by itself: a table of failures, and no loop without a wait."""

from __future__ import annotations

import pytest

from apimachinery.errors import (
    APIError,
    ConnectionLost,
    DecodeError,
    Expired,
    Forbidden,
    NoSuchKind,
    ServerError,
    StreamIdle,
    TooManyRequests,
)
from controller_runtime.cache.recovery import Failure, Recovery, classify, recovery
from controller_runtime.cache.state import TRANSITIONS, Listing, Receiving, Resuming, State, Streaming, Watching
from controller_runtime.cache.streamed import StreamedList
from controller_runtime.client.paging import ListBounds

STATES = [
    *(pytest.param(Listing(recent), id=f"listing, most recent {recent}") for recent in (False, True)),
    *(pytest.param(Streaming(recent), id=f"streaming, most recent {recent}") for recent in (False, True)),
    *(
        pytest.param(Receiving(StreamedList("nodes", ListBounds(), lambda new: new), recent), id=f"receiving, {recent}")
        for recent in (False, True)
    ),
    *(pytest.param(Resuming(retry), id=f"resuming, retry {retry}") for retry in (False, True)),
    *(pytest.param(Watching(1.0, retry), id=f"watching, retry {retry}") for retry in (False, True)),
]


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
        pytest.param(NoSuchKind("", code=404), Failure.KIND, id="kind not served"),
        pytest.param(APIError("", code=418), Failure.OTHER, id="anything"),
        pytest.param(DecodeError(""), Failure.OTHER, id="no list"),
    ],
)
def test_failures_are_told_apart_by_what_they_say_about_the_question(error: APIError, failure_: Failure) -> None:
    assert classify(error) is failure_


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "paged"])
@pytest.mark.parametrize("state", STATES)
def test_no_failure_loops_without_a_wait(state: State, streaming: bool) -> None:
    for failure_ in Failure:
        seen: set[State] = set()
        at, waited = state, False
        while not waited:
            assert at not in seen, f"{failure_} goes round in {at} without a wait"
            seen.add(at)
            at, waited = recovery(at, failure_, streaming=streaming)


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "paged"])
@pytest.mark.parametrize("state", STATES)
def test_each_recovery_is_a_change_of_state_that_there_is(state: State, streaming: bool) -> None:
    after = {recovery(state, failure_, streaming=streaming).state for failure_ in Failure}

    assert {(type(state), type(each)) for each in after} <= TRANSITIONS


@pytest.mark.parametrize("most_recent", [True, False])
def test_a_version_once_refused_is_not_asked_for_again(most_recent: bool) -> None:
    """Until a list has succeeded, other failures do not change which version is asked for."""
    assert recovery(Listing(most_recent), Failure.BUSY, streaming=True).state == Listing(most_recent)
    assert recovery(Streaming(most_recent), Failure.BUSY, streaming=True).state == Streaming(most_recent)
    assert recovery(Streaming(most_recent), Failure.OTHER, streaming=True).state == Listing(most_recent)


@pytest.mark.parametrize(
    ("streaming", "relist"),
    [pytest.param(True, Streaming(), id="streamed"), pytest.param(False, Listing(), id="paged")],
)
def test_an_event_that_the_server_cannot_read_is_made_up_for_by_a_list(streaming: bool, relist: State) -> None:
    """The same watch would fail in the same way, so the first such failure lists; a list's is like any other."""

    def after(state: State) -> Recovery:
        return recovery(state, Failure.EVENT, streaming=streaming)

    assert after(Watching(1.0, is_retry=False)) == Recovery(relist)
    assert after(Listing()) == Recovery(Listing())
    assert after(Streaming()) == Recovery(Listing(), wait=False)


@pytest.mark.elsewhere("nolar/kopf#787")
def test_recovery_defaults_to_waiting() -> None:
    assert Recovery(Listing()) == (Listing(), True)
