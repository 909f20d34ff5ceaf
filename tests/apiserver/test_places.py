# SPDX-License-Identifier: Apache-2.0
"""Which connections are kept and which have to go, decided about names and instants."""

from __future__ import annotations

from controller_runtime.apiserver.shell.places import IDLE_TIME, STRANGER_TIME, STRANGERS, Places


def places_with(limit: int, *, strangers: int = 0, idle: int = 0, busy: int = 0) -> Places[str]:
    """Places taken in this order, one connection each second from instant 0."""
    places: Places[str] = Places(limit)
    names = [f"{state}{n}" for state, count in (("busy", busy), ("idle", idle)) for n in range(count)]
    for now, name in enumerate(names):
        assert places.enter(name, now) is None
        places.begin(name, now, known=True)
        if name.startswith("idle"):
            places.end(name, now)
    for now in range(len(names), len(names) + strangers):
        assert places.enter(f"stranger{now - len(names)}", now) is None
    return places


def test_the_oldest_stranger_makes_room_for_the_next() -> None:
    places = places_with(10, strangers=5, busy=2)

    assert places.enter("new", 100) == "stranger0"


def test_strangers_have_no_more_places_than_their_number_however_many_there_are() -> None:
    places = places_with(STRANGERS * 10, strangers=STRANGERS)

    assert places.enter("new", 1000) == "stranger0"


def test_a_stranger_that_asks_without_a_token_stays_one_and_counts_as_the_last() -> None:
    places = places_with(10, strangers=5)
    places.begin("stranger0", 50, known=False)
    places.end("stranger0", 51)

    assert places.enter("new", 100) == "stranger1"


def test_a_full_house_closes_a_stranger_before_a_known_connection() -> None:
    places = places_with(6, strangers=1, idle=2, busy=3)

    assert places.enter("new", 100) == "stranger0"


def test_a_full_house_without_other_strangers_closes_the_connection_idle_for_longest() -> None:
    places = places_with(5, idle=2, busy=3)

    assert places.enter("new", 100) == "idle0"


def test_a_house_full_of_requests_takes_in_no_more() -> None:
    places = places_with(5, busy=5)

    assert places.enter("new", 100) == "new"


def test_a_connection_that_is_being_answered_is_never_spared() -> None:
    assert places_with(5, busy=5).spare() is None


def test_places_are_free_again_when_their_connections_are_gone() -> None:
    places = places_with(6, strangers=2, idle=2, busy=2)
    for name in ("stranger0", "idle0", "busy0", "busy0", "never there"):
        places.leave(name)

    assert len(places) == 3
    assert places.enter("new", 100) is None


def test_a_stranger_has_less_time_than_an_idle_connection_and_a_busy_one_has_any() -> None:
    places = places_with(10, strangers=1, idle=1, busy=1)  # from the instants 2, 1 and 0

    assert list(places.overdue(STRANGER_TIME + 1.9)) == []
    assert list(places.overdue(STRANGER_TIME + 2)) == ["stranger0"]
    assert list(places.overdue(IDLE_TIME + 1)) == ["stranger0", "idle0"]


def test_each_answer_gives_an_idle_connection_its_time_again() -> None:
    places = places_with(10, idle=2)
    places.begin("idle0", 80, known=True)
    places.end("idle0", 80)

    assert list(places.overdue(IDLE_TIME + 1)) == ["idle1"]


def test_a_known_connection_does_not_become_a_stranger() -> None:
    places = places_with(10, idle=1)
    places.begin("idle0", 1, known=False)
    places.end("idle0", 1)

    assert list(places.overdue(STRANGER_TIME + 1)) == []


def test_a_request_on_a_connection_that_is_gone_takes_no_place() -> None:
    places = places_with(10, strangers=1)
    places.leave("stranger0")
    places.begin("stranger0", 1, known=True)
    places.end("stranger0", 1)

    assert len(places) == 0
