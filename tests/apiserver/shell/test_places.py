# SPDX-License-Identifier: Apache-2.0
"""The decision which connections stay open and which are closed, without sockets."""

from __future__ import annotations

import pytest

from embedded_apiserver.shell.places import (
    ANONYMOUS_GRACE,
    ANONYMOUS_TIMEOUT,
    IDLE_TIMEOUT,
    MOST_ANONYMOUS,
    Places,
)


def places_with(limit: int, *, anonymous: int = 0, idle: int = 0, busy: int = 0) -> Places[str]:
    """Return `Places` with connections that were opened one per second from time 0: busy, idle, then anonymous ones."""
    places: Places[str] = Places(limit)
    names = [f"{state}{n}" for state, count in (("busy", busy), ("idle", idle)) for n in range(count)]
    for now, name in enumerate(names):
        places.enter(name, now)
        places.begin(name, now, known=True)
        if name.startswith("idle"):
            places.end(name, now)
    for now in range(len(names), len(names) + anonymous):
        places.enter(f"anonymous{now - len(names)}", now)
    return places


@pytest.mark.parametrize(
    ("places", "is_full"),
    [
        pytest.param(places_with(10, anonymous=4, idle=2, busy=3), False, id="one place is free"),
        pytest.param(places_with(10, anonymous=4, idle=3, busy=3), True, id="none is free"),
        pytest.param(places_with(10, anonymous=5), True, id="half of the places, strangers have no more"),
        pytest.param(
            places_with(MOST_ANONYMOUS * 10, anonymous=MOST_ANONYMOUS), True, id="as many strangers as there may be"
        ),
    ],
)
def test_a_server_is_full_with_all_connections_or_with_anonymous_ones(places: Places[str], is_full: bool) -> None:
    assert places.is_full() is is_full


def test_the_oldest_anonymous_connection_is_closed_for_the_next() -> None:
    assert places_with(10, anonymous=5, idle=2, busy=2).to_close(100) == "anonymous0"


def test_a_connection_that_asks_without_a_token_stays_anonymous_and_counts_as_the_newest() -> None:
    places = places_with(10, anonymous=5)
    places.begin("anonymous0", 50, known=False)
    places.end("anonymous0", 51)

    assert places.to_close(100) == "anonymous1"


def test_new_anonymous_connections_are_not_closed_for_newer_ones() -> None:
    places = places_with(10, anonymous=5)  # opened from time 0 on

    assert places.to_close(ANONYMOUS_GRACE - 0.1) is None
    assert places.to_close(ANONYMOUS_GRACE - 0.1, urgent=True) == "anonymous0"
    assert places.to_close(ANONYMOUS_GRACE) == "anonymous0"


def test_too_many_anonymous_connections_close_no_authenticated_one() -> None:
    places = places_with(10, idle=1, anonymous=5)

    assert places.to_close(2) is None


def test_without_an_old_anonymous_connection_the_one_idle_for_longest_is_closed() -> None:
    assert places_with(5, idle=2, busy=3).to_close(100) == "idle0"
    assert places_with(5, idle=2, busy=2, anonymous=1).to_close(5) == "idle0"


def test_a_connection_that_is_being_answered_is_never_closed_for_another() -> None:
    assert places_with(5, busy=5).to_close(100, urgent=True) is None


def test_places_are_free_again_when_their_connections_are_gone() -> None:
    places = places_with(6, anonymous=2, idle=2, busy=2)
    for name in ("anonymous0", "idle0", "busy0", "busy0", "never there"):
        places.leave(name)

    assert len(places) == 3
    assert not places.is_full()


def test_an_anonymous_connection_times_out_before_an_idle_one_and_a_busy_one_never() -> None:
    places = places_with(10, anonymous=1, idle=1, busy=1)  # opened at the times 2, 1 and 0

    assert list(places.overdue(ANONYMOUS_TIMEOUT + 1.9)) == []
    assert list(places.overdue(ANONYMOUS_TIMEOUT + 2)) == ["anonymous0"]
    assert list(places.overdue(IDLE_TIMEOUT + 1)) == ["anonymous0", "idle0"]


def test_each_answer_gives_an_idle_connection_its_time_again() -> None:
    places = places_with(10, idle=2)
    places.begin("idle0", 80, known=True)
    places.end("idle0", 80)

    assert list(places.overdue(IDLE_TIMEOUT + 1)) == ["idle1"]


def test_an_authenticated_connection_does_not_become_anonymous() -> None:
    places = places_with(10, idle=1)
    places.begin("idle0", 1, known=False)
    places.end("idle0", 1)

    assert list(places.overdue(ANONYMOUS_TIMEOUT + 1)) == []


def test_a_request_on_a_connection_that_is_gone_takes_no_place() -> None:
    places = places_with(10, anonymous=1)
    places.leave("anonymous0")
    places.begin("anonymous0", 1, known=True)
    places.end("anonymous0", 1)

    assert len(places) == 0
