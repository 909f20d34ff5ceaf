# SPDX-License-Identifier: Apache-2.0
"""The share of a cache: which slots a list has filled, whatever is wanted meanwhile, and what a context holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.objects import Cached, ObjectKey, PlainKey, Received
from apimachinery.system import SystemHost
from controller_runtime.cache.divided import DividedStore
from controller_runtime.cache.held import Held, holding
from controller_runtime.cache.share import Portion, Share
from controller_runtime.client.decoding import EventType, Page, WatchEvent

HOST = SystemHost("tests")
SETS = st.integers(0, 15)


class ByFirstDigit:
    """Four slots, by the last character of the uid; `-` is in none."""

    def slot_of(self, cached: Cached) -> int | None:
        return None if cached.uid.endswith("-") else int(cached.uid[-1])

    def selector(self, slots: int) -> str:
        return f"slots {slots:04b}"


def cached(name: str, uid: str, version: str = "1") -> Cached:
    return Received(b'{"metadata":{}}', name, "", uid, version)


def share() -> tuple[Share, Portion]:
    made = Share(HOST, ByFirstDigit())
    return made, made.portion()


def page(*items: Cached, shards: str = "") -> Page:
    return Page([*items], [], "5", "", shards)


@given(st.lists(SETS, min_size=1, max_size=5), st.integers(0, 4))
def test_a_list_fills_what_was_wanted_from_its_beginning_to_its_end(wanted: list[int], at: int) -> None:
    made, portion = share()
    at = min(at, len(wanted) - 1)
    for slots in wanted[: at + 1]:
        made.want(slots)
    pages = portion.pages(lambda **_: page(), lambda: iter([page()]))
    next(pages)
    steady = wanted[at]
    for slots in wanted[at + 1 :]:
        made.want(slots)
        steady &= slots
    portion.completed()

    assert made.want(wanted[-1]) == steady
    assert portion.lacks_slots == (steady != wanted[-1])


def test_while_nothing_is_wanted_one_object_is_listed_for_its_version_and_not_kept() -> None:
    _, portion = share()
    asked: list[int] = []

    def first(*, most: int) -> Page:
        asked.append(most)
        return page(cached("a", "1"))

    [only] = portion.pages(first, lambda: iter(()))
    assert (asked, only.items, only.version) == ([1], [], "5")


def test_a_list_has_the_objects_of_the_share_alone_and_tells_whether_the_server_chose_them() -> None:
    made, portion = share()
    made.want(0b0010)
    assert portion.selector == "slots 0010"
    mine, other, nobodys = cached("a", "1"), cached("b", "2"), cached("c", "-")

    for told in ("slots 0010", ""):
        [only] = portion.pages(lambda **_: page(), lambda told=told: iter([page(mine, other, nobodys, shards=told)]))
        assert only.items == [mine]
        assert portion.is_selected is bool(told)


def store_with(*objects: Cached) -> tuple[Share, DividedStore]:
    made, portion = share()
    made.want(0b0110)
    store = DividedStore(HOST, "store", portion)
    portion.drop_others = store.drop_others
    content: dict[PlainKey, Cached] = {each.plain_key: each for each in objects}
    store.replace(content, "1")
    return made, store


def test_a_change_that_takes_an_object_out_of_the_share_is_a_deletion_and_a_change_of_others_moves_the_version() -> (
    None
):
    mine = cached("a", "x1")
    _, store = store_with(mine, cached("b", "x3"))
    assert store.list() == [mine]
    assert store.is_partial

    assert store.apply(WatchEvent(EventType.MODIFIED, cached("b", "x3", "7"), "7")) is None
    assert store.version == "7"
    delta = store.apply(WatchEvent(EventType.MODIFIED, cached("a", "x3", "8"), "8"))
    assert delta is not None
    assert (delta.old, delta.new) == (mine, None)


def test_a_smaller_share_drops_objects_from_the_store_and_its_indices() -> None:
    one, two = cached("a", "x1"), cached("b", "x2")
    made, store = store_with(one, two)
    store.add_index("all", lambda each: ["x"])

    made.want(0b0100)

    assert store.list() == [two]
    assert store.by_index("all", "x") == (two,)


def test_what_a_context_holds_is_found_in_it_and_nowhere_else() -> None:
    mine, key = cached("a", "x1"), ObjectKey("a")
    made, store = store_with(mine)
    _, other = store_with()

    with holding(Held(key, {store: mine}, lambda later: False)):
        made.want(0)
        assert store.get(key) is mine
        assert store.get(ObjectKey("b")) is None
        assert other.get(key) is None
    assert store.get(key) is None


@pytest.mark.parametrize(
    ("held", "later", "seen"),
    [
        pytest.param("x1", None, "x1", id="it is deleted"),
        pytest.param("x1", "y1", "y1", id="it is replaced by one of the same slot"),
        pytest.param("x1", "y2", "x1", id="it is replaced by one of another slot"),
        pytest.param(None, "y2", None, id="one of another slot comes"),
        pytest.param(None, "y1", "y1", id="one of the slot comes"),
    ],
)
def test_work_sees_what_it_began_with_and_later_states_of_its_own_slot(
    held: str | None, later: str | None, seen: str | None
) -> None:
    made, store = store_with(*([] if later is None else [cached("a", later)]))
    began = None if held is None else cached("a", held)

    with holding(Held(ObjectKey("a"), {store: began}, lambda now: ByFirstDigit().slot_of(now) == 1)):
        found = store.get(ObjectKey("a"))

        assert (None if found is None else found.uid) == seen
        made.want(0)
        assert store.get(ObjectKey("a")) is found
