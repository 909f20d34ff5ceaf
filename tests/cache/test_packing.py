# SPDX-License-Identifier: Apache-2.0
"""A compressed cache: its dictionaries, its thread, and what does not change by it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from kit.cache.compressing import SMALL, needs_zstandard, some_node
from kit.cache.scripted import Act, Pause, ScriptedServer, page, watched
from kit.nodes import bookmark_line, content, contents, error_line, line

from apimachinery.errors import UsageError
from apimachinery.objects import Cached, ObjectKey, cached_from_bytes, labels_of
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.cache.compression import Compression
from controller_runtime.cache.delivery import Delivery
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.packed import PLAIN, Codec, Packed, bytes_of, is_plain, packed
from controller_runtime.cache.packing import Packing
from controller_runtime.cache.scope import CacheScope
from controller_runtime.cache.store import Delta, Store
from controller_runtime.client.decoding import Decoding
from controller_runtime.testing.simulation import Simulation

pytestmark = needs_zstandard


CHANGES = [
    line("MODIFIED", some_node(1, 3, 6)),
    line("DELETED", some_node(0, 4, 7)),
    line("ADDED", some_node(0, 40, 8)),
]


def received(obj: dict[str, Any]) -> Cached:
    """Return an object as it comes from the server."""
    return cached_from_bytes(Decoding(NODES).page(page(1, obj).body).items[0].raw)


class Program:
    """Caches of what a script tells, and the changes that a handler of the first was told."""

    def __init__(
        self,
        sim: Simulation,
        *script: Act,
        compress: bool | Compression = SMALL,
        streaming: bool = True,
        scope: CacheScope | None = None,
        name: str = "r0",
    ) -> None:
        self.sim = sim
        self.host = sim.host(name)
        self.stop = Stop(self.host)
        self.server = ScriptedServer(self.host, *script)
        self.informers = Informers(self.host, self.server, CacheOptions(streaming=streaming, compress=compress))
        if scope is not None:
            self.informers.scope(scope)
        self.informer = self.informers.of(Collection(NODES))
        self.store: Store = self.informer.store
        self.told: list[Delta] = []
        self.informer.add_handler(self.told.append)
        self.informers.start(self.stop)
        sim.settle()

    def codecs(self) -> list[Codec]:
        """Return the codecs of the objects, each once."""
        return [*{id(codec): codec for each in self.store.list() if (codec := codec_of(each))}.values()]

    def end(self) -> None:
        self.stop.set()
        assert self.informers.join_until(self.host.monotonic() + 1.0) == []


def codec_of(cached: Cached) -> Codec:
    assert isinstance(cached, Packed)
    return cached.codec


def initial(seed: int, count: int) -> list[bytes]:
    """Return a streamed list."""
    lines = [line("ADDED", some_node(seed, number)) for number in range(count)]
    return [*lines, bookmark_line(5, ends_initial="true")]


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "paged"])
def test_objects_of_the_first_list_are_compressed_and_read_as_they_came(sim: Simulation, streaming: bool) -> None:
    nodes = [some_node(0, number) for number in range(30)]
    p = Program(sim, watched(*initial(0, 30)) if streaming else page(5, *nodes), streaming=streaming)

    (codec,) = p.codecs()
    assert codec is not PLAIN
    assert contents(p.store.list()) == contents(map(received, nodes))
    assert p.store.sizes.held < p.store.sizes.json / 2
    assert Lister(p.store, NODES, dict[str, Any]).get(ObjectKey("n7")) == nodes[7]
    p.end()


def test_a_cache_that_is_not_compressed_says_the_bytes_that_it_holds(sim: Simulation) -> None:
    p = Program(sim, watched(*initial(0, 30)), compress=False)

    assert p.codecs() == [PLAIN]
    assert p.store.sizes.json == sum(each.size for each in p.store.list())
    assert 1.2 < p.store.sizes.held / p.store.sizes.json < 1.6
    p.end()


def test_the_scope_of_a_kind_decides_before_that_of_the_program(sim: Simulation) -> None:
    p = Program(sim, watched(*initial(0, 30)), compress=SMALL, scope=CacheScope(compress=False))

    assert p.codecs() == [PLAIN]
    p.end()


def test_a_namespace_alone_cannot_be_compressed() -> None:
    with pytest.raises(UsageError, match="can have selectors alone"):
        CacheScope(namespaces={"a": CacheScope(compress=True)})


def test_a_collection_with_few_bytes_is_left_as_it_is(sim: Simulation) -> None:
    p = Program(sim, watched(*initial(0, 30)), compress=Compression(samples=8))

    assert p.codecs() == [PLAIN]
    p.end()


def test_changes_are_told_as_without_compression(sim: Simulation) -> None:
    told = []
    for name, compress in (("plain", False), ("compressed", SMALL)):
        p = Program(sim, watched(*initial(0, 30), Pause(1.0), *CHANGES), compress=compress, name=name)
        sim.advance(2.0)
        told.append([(content(delta.old), content(delta.new), delta.initial) for delta in p.told])
        p.end()

    assert told[0] == told[1]
    assert [(old is None, new is None) for old, new, _ in told[1][-3:]] == [
        (False, False),
        (False, True),
        (True, False),
    ]


def test_an_event_is_at_hand_as_it_came(sim: Simulation) -> None:
    p = Program(sim, watched(*initial(0, 30), Pause(1.0), line("MODIFIED", some_node(0, 3, 6))))
    sim.advance(2.0)

    assert not isinstance(p.told[-1].new, Packed)
    stored = p.store.get(ObjectKey("n3"))
    assert stored is not None
    assert codec_of(stored) is not PLAIN
    p.end()


def test_a_name_is_in_memory_once_however_often_its_object_changes(sim: Simulation) -> None:
    changes = [line("MODIFIED", some_node(0, 3, 6 + number)) for number in range(5)]
    p = Program(sim, watched(*initial(0, 30), Pause(1.0), *changes))
    (before,) = [key for key in p.store._objects if key[0] == "n3"]
    sim.advance(2.0)

    (after,) = [key for key in p.store._objects if key[0] == "n3"]
    stored = p.store.get(ObjectKey("n3"))
    assert stored is not None
    assert stored.resource_version == "10"
    assert after is before is stored.plain_key
    p.end()


def test_objects_that_grow_get_a_new_dictionary_and_those_of_the_old_one_are_read_with_it(sim: Simulation) -> None:
    others = [line("ADDED", some_node(1, 100 + number, 10 + number)) for number in range(200)]
    p = Program(sim, watched(*initial(0, 100), Pause(1.0), *others))
    (first,) = p.codecs()
    sim.advance(2.0)

    assert len(p.codecs()) >= 2
    old, new = p.store.get(ObjectKey("n7")), p.store.get(ObjectKey("n290"))
    assert old is not None
    assert new is not None
    assert codec_of(old) is first
    assert codec_of(new) is not first
    assert labels_of(old) == some_node(0, 7)["metadata"]["labels"]
    assert labels_of(new) == some_node(1, 290)["metadata"]["labels"]
    p.end()


def test_a_list_after_a_lost_connection_keeps_the_compressed_objects(sim: Simulation) -> None:
    again = watched(*initial(0, 29))
    p = Program(sim, watched(*initial(0, 30), Pause(1.0), error_line(410, "Expired")), again)
    before = {each.name: each for each in p.store.list()}
    p.told.clear()
    sim.advance(10.0)

    after = {each.name: each for each in p.store.list()}
    assert len(after) == 29
    assert all(after[name] is before[name] for name in after)
    assert [(delta.key.name, delta.new is None) for delta in p.told] == [("n29", True)]
    p.end()


def test_indices_find_compressed_objects(sim: Simulation) -> None:
    p = Program(sim, watched(*initial(0, 30)))
    p.informer.add_index("digit", lambda cached: [cached.name[-1]])

    assert [each.name for each in p.store.by_index("digit", "7")] == ["n7", "n17", "n27"]
    p.end()


def test_two_caches_share_a_compressed_object(sim: Simulation) -> None:
    script = watched(*initial(0, 30), Pause(1.0), line("MODIFIED", some_node(0, 3, 6)))
    p = Program(sim, script, script)
    other = p.informers.of(Collection(NODES, label_selector="a=b"))
    sim.advance(5.0)

    mine = {each.name: each for each in p.store.list()}
    assert len(mine) == len(other.store) == 30
    assert all(mine[each.name] is each for each in other.store.list())
    p.end()


def test_objects_that_two_caches_share_are_packed_again_once(sim: Simulation) -> None:
    """The dictionary of each is trained after both have the objects, plain."""
    script = watched(*initial(0, 30), Pause(1.0), *(line("ADDED", some_node(0, 50 + n, 6 + n)) for n in range(60)))
    p = Program(sim, script, script, compress=attrs.evolve(SMALL, samples=40))
    other = p.informers.of(Collection(NODES, label_selector="a=b"))
    assert p.codecs() == [PLAIN]
    sim.advance(5.0)

    assert PLAIN not in p.codecs()
    mine = {each.name: each for each in p.store.list()}
    assert len(mine) == len(other.store) == 90
    assert all(mine[each.name] is each for each in other.store.list())
    p.end()


def test_a_cache_that_stops_while_a_dictionary_is_trained_ends(sim: Simulation) -> None:
    p = Program(sim, watched(*initial(0, 30)))
    p.informer._packing._ask(())
    p.stop.set()
    p.informer._packing.start_if_due()
    p.end()

    assert p.stop.failure is None


@pytest.mark.parametrize("seed", range(5))
def test_a_first_list_waits_for_its_dictionary(seed: int) -> None:
    with Simulation(seed=seed) as sim:
        host, plain = sim.host("r0"), list[int]()
        stop, packing = Stop(host), Packing(host, "nodes", SMALL)
        store = Store(host, form=packing.form)
        delivery = Delivery(host, store, "nodes", packing=packing)
        packing.follow(store, delivery.exchange, delivery.shared)
        packing.run(stop, stop)

        def take() -> None:
            plain.extend(is_plain(delivery.to_store(received(some_node(0, number)))) for number in range(200))

        host.spawn("list", take)
        sim.settle()
        assert len(plain) == 200
        assert sum(plain) <= SMALL.samples + 1
        stop.set()


def test_a_list_does_not_wait_for_a_dictionary_once_it_is_stopped(sim: Simulation) -> None:
    p = Program(sim, watched(*initial(0, 30)), compress=Compression(size=0, samples=500))
    packing = p.informer._packing
    packing._is_working = packing._is_ahead = True
    waiting = p.host.spawn("list", packing.wait_if_ahead)
    sim.settle()
    p.stop.set()
    sim.advance(2.0)

    assert waiting.join_until(None)
    packing._is_working = False
    p.end()


class Incompressible:
    """A codec that makes nothing smaller."""

    def pack(self, raw: bytes) -> None:
        """Return None."""

    def unpack(self, payload: memoryview) -> bytes:
        """Return the payload."""
        return bytes(payload)

    def size(self, payload: memoryview) -> int:
        """Return the size of the payload."""
        return len(payload)


def test_an_object_that_compression_makes_no_smaller_is_shared_with_the_other_store(sim: Simulation) -> None:
    packing, cached = Packing(sim.host("r0"), "nodes", SMALL), received(some_node(0, 1))
    packing._codec = Incompressible()
    of_other = packed(cached, PLAIN)

    assert packing.form(cached, None, of_other) is of_other


def test_the_bytes_of_a_store_follow_its_changes(sim: Simulation) -> None:
    p = Program(sim, watched(*initial(0, 30), Pause(1.0), *CHANGES))
    for _ in range(2):
        sizes = p.store.sizes
        assert sizes.json == sum(each.size for each in p.store.list())
        assert sizes.held == sum(bytes_of(each)[0] for each in p.store.list())
        sim.advance(2.0)
    p.end()
