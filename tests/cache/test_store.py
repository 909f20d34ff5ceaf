# SPDX-License-Identifier: Apache-2.0
"""The store: the objects it holds after each change, and the changes it reports."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.nodes import added, bookmark, cached, deleted, listed, modified

from apimachinery.objects import Cached, ObjectKey, labels_of
from apimachinery.system import SystemHost
from controller_runtime.cache.packed import PLAIN, packed
from controller_runtime.cache.sizes import sizes_of
from controller_runtime.cache.store import Delta, Store
from controller_runtime.client.decoding import WatchEvent
from controller_runtime.testing.simulation import Simulation


def zone_of(obj: Cached) -> list[str]:
    return [zone for zone in labels_of(obj).get("zones", "").split(",") if zone]


@pytest.fixture
def store() -> Store:
    return Store(SystemHost("test"))


def test_event_changes_the_store_and_comes_back_as_a_delta(store: Store) -> None:
    first, second, last = cached("a", 1), cached("a", 2), cached("a", 3)

    deltas = [store.apply(added(first)), store.apply(modified(second)), store.apply(deleted(last))]

    assert deltas == [Delta(None, first), Delta(first, second), Delta(second, None)]
    assert len(store) == 0
    assert store.version == "3"


def test_delta_is_named_for_its_object() -> None:
    assert Delta(None, cached("a", 1)).key == Delta(cached("a", 1), None).key == ObjectKey("a")


def test_deletion_of_what_is_not_held_is_no_change(store: Store) -> None:
    assert store.apply(deleted(cached("a", 1))) is None
    assert store.version == "1"


def test_event_that_repeats_what_is_held_is_no_change(store: Store) -> None:
    store.apply(added(cached("a", 1)))

    assert store.apply(modified(cached("a", 1))) is None


@pytest.mark.parametrize("late", [modified, deleted], ids=["modified", "deleted"])
def test_event_older_than_what_is_held_is_ignored(store: Store, late: object) -> None:
    store.apply(added(cached("a", 10)))

    assert callable(late)
    assert store.apply(late(cached("a", 9))) is None

    assert [held.resource_version for held in store.list()] == ["10"]
    assert store.version == "10"


def test_replace_returns_exactly_what_differs(store: Store) -> None:
    same, old, gone = cached("same", 1), cached("changed", 2), cached("gone", 3)
    store.replace(listed(same, old, gone), "3")
    changed, new = cached("changed", 4), cached("new", 5)

    deltas = store.replace(listed(cached("same", 1), changed, new), "5")

    assert deltas == [Delta(gone, None), Delta(old, changed), Delta(None, new)]
    assert {held.name for held in store.list()} == {"same", "changed", "new"}


def test_first_replace_is_the_initial_one_and_no_other(store: Store) -> None:
    initial = store.replace(listed(cached("a", 1)), "1")
    later = store.replace(listed(cached("a", 1), cached("b", 2)), "2")

    assert [delta.initial for delta in initial] == [True]
    assert [delta.initial for delta in later] == [False]
    assert store.filled


@pytest.mark.scenario("SI-25")
def test_object_recreated_between_two_looks_is_one_delta_of_two_uids(store: Store) -> None:
    """A deletion and recreation during a disconnect is reported as one update whose two sides differ in uid."""
    before, after = cached("a", 1, uid="first"), cached("a", 7, uid="second")
    store.replace(listed(before), "1")

    assert store.replace(listed(after), "7") == [Delta(before, after)]


def test_most_recent_list_of_a_server_that_went_back_is_believed(store: Store) -> None:
    held, restored = cached("a", 100, phase="lost"), cached("a", 100, phase="of the new history")
    store.replace(listed(held), "100")

    deltas = store.replace(listed(restored), "90")

    assert deltas == [Delta(held, restored)]
    assert store.version == "90"


@pytest.mark.scenario("FF-18")
def test_version_follows_events_bookmarks_and_lists(store: Store) -> None:
    """The store's version moves with every event, with bookmarks, and with a whole list."""
    store.apply(added(cached("a", 10)))
    store.apply(bookmark(30))
    assert store.version == "30"

    store.apply(bookmark(20))
    assert store.version == "30"

    store.replace({}, "40")
    assert store.version == "40"
    assert store.behind("41")
    assert not store.behind("40")


def test_version_does_not_go_back_with_an_event_of_another_object(store: Store) -> None:
    store.apply(added(cached("a", 55)))

    assert store.apply(added(cached("b", 32))) is not None
    assert store.version == "55"


def test_another_object_of_the_same_name_and_version_is_a_change(store: Store) -> None:
    held, other = cached("a", 5, uid="x"), cached("a", 5, uid="y")
    store.apply(added(held))

    assert store.apply(modified(other)) == Delta(held, other)


def test_equal_object_from_a_relist_is_kept_once(store: Store) -> None:
    held = cached("a", 1)
    store.replace(listed(held), "1")

    assert store.equal_to(cached("a", 1)) is held
    assert store.equal_to(cached("a", 2)) is None


@pytest.mark.scenario("ST-01")
def test_index_keeps_no_empty_value_sets(store: Store) -> None:
    """The index keeps no entry for a value that no object has any more."""
    store.add_index("zone", zone_of)
    store.apply(added(cached("a", 1, zones="east")))
    store.apply(deleted(cached("a", 2)))

    assert store.index_values("zone") == ()


@pytest.mark.scenario("ST-02")
def test_index_value_lives_while_one_object_has_it(store: Store) -> None:
    """After one of two objects with one value is deleted, the other is still found."""
    store.add_index("zone", zone_of)
    store.replace(listed(cached("a", 1, zones="east"), cached("b", 2, zones="east")), "2")
    store.apply(deleted(cached("a", 3)))

    assert [obj.name for obj in store.by_index("zone", "east")] == ["b"]


@pytest.mark.scenario("ST-04")
@pytest.mark.scenario("ST-05")
def test_object_with_several_values_is_found_under_each_and_moves(store: Store) -> None:
    """Multi-valued indices find each object by each of its values, list distinct values, and follow an update."""
    store.add_index("zone", zone_of)
    one, two, three = (
        cached(n, v, zones=z)
        for v, (n, z) in enumerate([("one", "ernie,bert"), ("two", "bert,oscar"), ("three", "ernie,elmo")], 1)
    )
    for obj in (one, two, three):
        store.apply(added(obj))

    assert {value: len(store.by_index("zone", value)) for value in store.index_values("zone")} == {
        "ernie": 2,
        "bert": 2,
        "oscar": 1,
        "elmo": 1,
    }

    store.apply(modified(cached("three", 9, zones="oscar")))

    assert [obj.name for obj in store.by_index("zone", "oscar")] == ["two", "three"]
    assert store.by_index("zone", "elmo") == ()


def test_index_added_while_running_holds_what_is_there(store: Store) -> None:
    store.replace(listed(cached("a", 1, zones="east")), "1")
    store.add_index("zone", zone_of)

    assert [obj.name for obj in store.by_index("zone", "east")] == ["a"]
    with pytest.raises(ValueError, match="zone"):
        store.add_index("zone", zone_of)


@pytest.mark.scenario("ST-06")
def test_index_function_that_raises_fails_the_write_and_changes_nothing(store: Store) -> None:
    """A failing index function raises, and the store stays as it was."""

    def broken(obj: Cached) -> list[str]:
        return [labels_of(obj)["needed"]]

    store.add_index("broken", broken)

    with pytest.raises(KeyError, match="needed"):
        store.apply(added(cached("a", 1)))
    with pytest.raises(KeyError, match="needed"):
        store.replace(listed(cached("a", 1)), "1")

    assert len(store) == 0
    assert (store.version, store.filled) == ("", False)


VERSIONS = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from(["", "x", "y", "x,y"]), st.sampled_from(["put", "delete", "relist"])
    ),
    max_size=30,
)


@given(VERSIONS)
def test_index_always_equals_one_made_afresh(changes: list[tuple[str, str, str]]) -> None:
    store = Store(SystemHost("test"))
    store.add_index("zone", zone_of)
    for version, (name, zones, act) in enumerate(changes, 1):
        obj = cached(name, version, zones=zones)
        match act:
            case "put":
                store.apply(modified(obj))
            case "delete":
                store.apply(deleted(obj))
            case _:
                store.replace(listed(*[held for held in store.list() if held.name != name], obj), str(version))

    fresh = Store(SystemHost("test"))
    fresh.replace(listed(*store.list()), "1")
    fresh.add_index("zone", zone_of)
    assert sorted(store.index_values("zone")) == sorted(fresh.index_values("zone"))
    for value in fresh.index_values("zone"):
        assert {o.name for o in store.by_index("zone", value)} == {o.name for o in fresh.by_index("zone", value)}


@pytest.mark.parametrize("by", [bookmark(5), added(cached("a", 7))], ids=["bookmark", "event"])
def test_waiting_for_a_version_ends_when_it_is_reached(sim: Simulation, by: WatchEvent) -> None:
    host = sim.host("r0")
    store = Store(host)
    reached: list[bool] = []
    host.spawn("reader", lambda: reached.append(store.wait_for("5", timeout=10.0)))
    sim.settle()

    store.apply(bookmark(4))
    sim.settle()
    assert reached == []

    store.apply(by)
    sim.settle()
    assert reached == [True]


def test_waiting_for_a_version_ends_at_its_timeout(sim: Simulation) -> None:
    host = sim.host("r0")
    store = Store(host)
    reached: list[bool] = []
    host.spawn("reader", lambda: reached.append(store.wait_for("5", timeout=10.0)))

    sim.advance(9.9)
    assert reached == []

    sim.advance(0.1)
    assert reached == [False]


def test_waiting_for_a_version_ends_with_a_list_that_has_it(sim: Simulation) -> None:
    host = sim.host("r0")
    store = Store(host)
    reached: list[bool] = []
    host.spawn("reader", lambda: reached.append(store.wait_for("5", timeout=10.0)))
    sim.settle()

    store.replace({}, "5")
    sim.settle()

    assert reached == [True]


def test_what_a_store_holds_is_nothing_to_the_garbage_collector(store: Store) -> None:
    """The garbage collector skips the objects, so a hundred thousand of them do not lengthen its pauses."""
    store.add_index("name", lambda obj: [obj.name])
    store.replace(listed(*(cached(f"n{i}", i + 1) for i in range(100))), "100")
    store.apply(added(cached("late", 101)))
    gc.collect()

    names = next(iter(store._indices["name"].keys.values()))
    assert not any(gc.is_tracked(thing) for pair in store._objects.items() for thing in pair)
    assert not any(gc.is_tracked(name) for name in names)


def test_an_exchange_leaves_a_newer_state_and_an_absence_alone(store: Store) -> None:
    kept, changed, gone = cached("kept", 1), cached("changed", 1), cached("gone", 1)
    store.replace(listed(kept, changed, gone), "1")
    forms = [(each, packed(each, PLAIN)) for each in (kept, changed, gone)]
    store.apply(modified(newer := cached("changed", 2)))
    store.apply(deleted(cached("gone", 3)))

    store.exchange(forms)

    assert store.list() == [forms[0][1], newer]
    assert store.sizes == sizes_of(store.list())


def test_states_of_one_version_that_differ_are_not_equal(store: Store) -> None:
    """After a backup was restored, one version can name two states."""
    store.replace(listed(cached("a", 1, phase="lost")), "1")

    assert store.equal_to(cached("a", 1, phase="of the new history")) is None
