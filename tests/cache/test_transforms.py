# SPDX-License-Identifier: Apache-2.0
"""Transforms of a cache's objects: each object is transformed, however it arrives."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.cache.scripted import Act, Pause, ScriptedServer, page, watched
from kit.nodes import bookmark_line, cached, error_line, line, node, packed

from apimachinery.errors import DecodeError
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.store import Delta
from controller_runtime.cache.transforms import Transform, edited, transformed, without
from controller_runtime.testing.simulation import Simulation

SYNCED = bookmark_line(5, ends_initial="true")

names = st.sampled_from("abc")
trees = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(names, inner, max_size=3),
)
paths = st.lists(st.lists(names, min_size=1, max_size=3).map(tuple), max_size=4)


def plainly_without(tree: Any, left_out: list[tuple[str, ...]]) -> Any:
    if not isinstance(tree, dict):
        return tree
    below = {name: [path[1:] for path in left_out if path[0] == name] for name in tree}
    return {name: plainly_without(tree[name], below[name]) for name in tree if () not in below[name]}


@given(st.dictionaries(names, trees, max_size=3), paths)
def test_fields_are_left_out_and_nothing_else_changes(tree: dict[str, Any], left_out: list[tuple[str, ...]]) -> None:
    leave_out = without(*left_out)
    found = leave_out(packed(tree))

    assert json.loads(found) == plainly_without(tree, left_out)
    assert leave_out(found) == found
    assert [*json.loads(found)] == [name for name in tree if name in json.loads(found)]


def test_what_is_left_is_left_byte_for_byte() -> None:
    raw = b'{"metadata":{"name":"a","managedFields":[{"x":1}]},"status":{"number":1.50,"big":12345678901234567890123}}'

    left = without(("metadata", "managedFields"))(raw)

    assert left == b'{"metadata":{"name":"a"},"status":{"number":1.50,"big":12345678901234567890123}}'


@pytest.mark.parametrize("path", ["metadata.managedFields", (), ""])
def test_a_path_that_is_none_is_refused(path: Any) -> None:
    with pytest.raises(ValueError, match="is not a path"):
        without(path)


def test_equal_transforms_are_equal() -> None:
    assert without(("a", "b"), ("c",)) == without(["c"], ["a", "b"])


@pytest.mark.parametrize("raw", [b"[]", b"{", b'{"a":}'])
@pytest.mark.parametrize("transform", [without(("a", "b")), edited(dict.clear)], ids=["without", "edited"])
def test_an_object_that_cannot_be_read_is_named(transform: Transform, raw: bytes) -> None:
    broken = msgspec.structs.replace(cached("n1", 1), raw=raw)

    with pytest.raises(DecodeError, match=r"^n1: "):
        transformed(broken, transform)


@pytest.mark.scenario("FF-18")
def test_an_object_keeps_its_identity_whatever_is_made_of_it() -> None:
    """A transform that drops all metadata does not lose the version, nor the name."""
    found = transformed(cached("n1", 7), edited(dict.clear))

    assert (found.raw, found.key, found.uid, found.resource_version) == (b"{}", ObjectKey("n1"), "uid-n1", "7")


def suffix(obj: dict[str, Any]) -> None:
    labels = obj["metadata"]["labels"]
    labels["seen"] = labels["seen"].rstrip("!") + "!"


SUFFIX = edited(suffix)


class Program:
    """An informer with a transform, a handler of its changes, and a lister."""

    def __init__(self, sim: Simulation, transform: Transform, *script: Act, streaming: bool = True) -> None:
        self.host = sim.host("r0")
        self.sim = sim
        self.stop = Stop(self.host)
        server, options = ScriptedServer(self.host, *script), CacheOptions(streaming=streaming)
        self.informers = Informers(self.host, server, options, transforms={NODES: transform})
        self.informer = self.informers.of(Collection(NODES))
        self.lister = Lister(self.informer.store, NODES, dict[str, Any])
        self.told: list[Delta] = []
        self.informer.add_handler(self.told.append)
        self.informers.start(self.stop)
        sim.settle()

    @property
    def seen(self) -> dict[str, str]:
        return {obj["metadata"]["name"]: obj["metadata"]["labels"]["seen"] for obj in self.lister.list()}

    def end(self) -> None:
        self.stop.set()
        assert self.informers.join_until(self.host.monotonic() + 1.0) == []


@pytest.mark.scenario("RF-25")
@pytest.mark.scenario("SI-07")
@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "paged"])
def test_handlers_and_readers_see_transformed_objects_only(sim: Simulation, streaming: bool) -> None:
    """The objects of the initial list, changes and a relist are transformed once, in the temporary buffer as well."""
    first, more = line("ADDED", node("a", 1, seen="x")), line("ADDED", node("b", 6, seen="y"))
    gone, deleted = error_line(410, "Expired"), line("DELETED", node("b", 7, seen="y"))
    again = node("a", 1, seen="x"), node("c", 8, seen="z")
    script: tuple[Act, ...] = (
        (
            watched(first, SYNCED, Pause(1.0), more, deleted, gone),
            watched(*(line("ADDED", obj) for obj in again), bookmark_line(9, ends_initial="true")),
        )
        if streaming
        else (page(5, node("a", 1, seen="x")), watched(Pause(1.0), more, deleted, gone), page(9, *again), watched())
    )
    p = Program(sim, SUFFIX, *script, streaming=streaming)
    sim.advance(10.0)

    assert p.seen == {"a": "x!", "c": "z!"}
    told = [(delta.key.name, delta.old is None, delta.new is None) for delta in p.told]
    assert told == [("a", True, False), ("b", True, False), ("b", False, True), ("c", True, False)]
    assert all(b'!"' in side.raw for delta in p.told for side in (delta.old, delta.new) if side is not None)
    p.end()


@pytest.mark.scenario("SI-08")
@pytest.mark.parametrize("seed", range(5))
def test_no_reader_sees_a_half_transformed_object(seed: int) -> None:
    """With many objects, a handler and a reader, no object is seen half-transformed or transformed twice."""
    events = [line("MODIFIED", node(f"n{i % 7}", 10 + i, seen=str(i))) for i in range(60)]
    with Simulation(seed=seed) as sim:
        p = Program(sim, SUFFIX, watched(SYNCED, *(part for event in events for part in (Pause(0.1), event))))
        for _ in range(70):
            assert all(text.count("!") == 1 for text in p.seen.values())
            sim.advance(0.1)

        assert len(p.seen) == 7
        p.end()


def test_an_object_that_the_transform_cannot_read_is_skipped_and_counted(sim: Simulation) -> None:
    def picky(raw: bytes) -> bytes:
        if b"odd" in raw:
            raise DecodeError("too odd")
        return raw

    p = Program(
        sim, picky, page(5, node("odd", 1), node("a", 2)), watched(line("ADDED", node("odd2", 6))), streaming=False
    )

    assert p.lister.keys() == [ObjectKey("a")]
    assert (p.informer.reflector.liveness.skipped, p.stop.failure) == (2, None)
    p.end()


def test_a_transform_with_a_bug_stops_the_program(sim: Simulation) -> None:
    p = Program(sim, edited(lambda obj: obj["nothing"]), watched(line("ADDED", node("a", 1)), SYNCED))

    assert isinstance(p.stop.failure, KeyError)
    p.end()


def test_a_transform_is_for_its_own_resource(sim: Simulation) -> None:
    host = sim.host("r1")
    informers = Informers(host, ScriptedServer(host), transforms={NODES: SUFFIX})

    assert informers.of(Collection(LEASES)).reflector._transform is None
    assert informers.of(Collection(NODES, label_selector="a=b")).reflector._transform is SUFFIX


def test_a_deletion_counts_although_the_transform_cannot_read_its_last_state(sim: Simulation) -> None:
    def picky(raw: bytes) -> bytes:
        if b"odd" in raw:
            raise DecodeError("too odd")
        return raw

    gone = node("a", 3, seen="odd")
    p = Program(sim, picky, watched(line("ADDED", node("a", 1)), SYNCED, Pause(1.0), line("DELETED", gone)))
    assert p.lister.keys() == [ObjectKey("a")]

    sim.advance(2.0)

    assert p.lister.keys() == []
    assert p.informer.reflector.liveness.skipped == 0
    p.end()
