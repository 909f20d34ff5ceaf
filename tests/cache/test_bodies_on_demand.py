# SPDX-License-Identifier: Apache-2.0
"""Caches that keep the metadata of all objects and the bodies of some, on an embedded server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kit.cache.bodies import A, MakeScene, scenes

from apimachinery.errors import ConnectionLost, Forbidden, NotFound, StaleCache, UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, labels_of, meta
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.collection import Collection
from controller_runtime.cache.bodies import Bodies, Seen
from controller_runtime.cache.delta import Delta
from controller_runtime.cache.head import Head
from controller_runtime.cache.held import Held, holding
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.scope import CacheScope
from controller_runtime.cache.transforms import without
from controller_runtime.cache.union import Union
from controller_runtime.testing.simulation import SimulatedHost, Simulation


@pytest.fixture
def scene(sim: Simulation) -> Iterator[MakeScene]:
    with scenes(sim) as make:
        yield make


def test_metadata_of_all_is_kept_and_a_body_is_fetched_once(scene: MakeScene) -> None:
    it = scene()
    it.create("a", "b", app="web")
    it.start()

    assert b'"data"' not in it.cache.store.list()[0].raw
    assert [*map(str, it.lister.keys())] == ["x/a", "x/b"]
    assert it.asked.gets == []
    assert (it.read(), it.read()) == ("new", "new")
    assert it.asked.gets == ["a"]
    assert (it.kept.hits, it.kept.misses, len(it.kept)) == (1, 1, 1)


def test_a_changed_object_is_fetched_again_and_a_deleted_one_is_not(scene: MakeScene) -> None:
    it = scene()
    it.create("a")
    it.start()
    it.read()

    it.patch("a", "changed")
    it.settle()
    assert it.read() == "changed"

    it.user.delete(CONFIG_MAPS, A)
    it.settle()
    assert it.read() is None
    assert it.asked.gets == ["a", "a"]
    assert it.kept.held == 0


def test_body_of_newer_state_than_the_metadata_is_read_until_the_metadata_has_passed_it(scene: MakeScene) -> None:
    it = scene()
    it.create("a")
    it.start()
    it.asked.before_answer = lambda: it.patch("a", "newer")  # the watch has not brought it

    assert it.read() == "newer"
    it.asked.before_answer = lambda: None
    assert it.read() == "newer"
    it.settle()
    assert it.read() == "newer"
    assert it.asked.gets == ["a"]


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "made again"])
def test_an_object_that_is_gone_reads_as_after_the_deletion(scene: MakeScene, again: bool) -> None:
    """The metadata still shows it; the object that has its name by now is another one."""
    it = scene()
    it.create("a")
    it.start()

    def vanish() -> None:
        it.user.delete(CONFIG_MAPS, A)
        if again:
            it.create("a")

    it.asked.before_answer = vanish
    assert it.read() is None
    it.asked.before_answer = lambda: None
    if not again:
        assert it.read() is None
        assert it.lister.list() == []
        assert it.asked.gets == ["a"]  # an absence is kept like a body
    it.settle()
    assert it.read() == ("new" if again else None)


def test_body_older_than_the_metadata_is_refused(scene: MakeScene) -> None:
    it = scene()
    it.create("a")
    it.start()
    old = it.asked.inner.request(HTTPRequest("GET", "/api/v1/namespaces/x/configmaps/a"), it.host.monotonic() + 1.0)
    it.patch("a", "changed")
    it.settle()
    it.asked.answer = lambda answer: old

    with pytest.raises(StaleCache, match="x/a: the server has version"):
        it.lister.get(A)


def test_selector_brings_the_bodies_by_a_second_watch(scene: MakeScene) -> None:
    it = scene(Bodies(label_selector="app=web"))
    it.create("a", app="web")
    it.create("b")
    it.start()

    assert sorted(map(str, it.informers)) == ["configmaps with app=web", "configmaps, bodies on demand"]
    assert it.read() == "new"
    it.patch("a", "changed")
    it.settle()
    assert it.read() == "changed"
    assert it.asked.gets == []
    assert it.read(ObjectKey("b", "x")) == "new"
    assert it.asked.gets == ["b"]
    # Readers of the selected objects share the second watch.
    assert it.informer(label_selector="app=web").bodies is None
    assert len([*it.informers]) == 2


def test_second_watch_that_is_behind_the_metadata_is_not_read(scene: MakeScene) -> None:
    it = scene(Bodies(label_selector="app=web"))
    it.create("a", app="web")
    it.start()
    [watched] = [each for each in it.informers if each.bodies is None]
    it.informers.release(watched)  # so it stays behind

    it.patch("a", "changed")
    it.settle()
    assert it.read() == "changed"
    assert it.asked.gets == ["a"]
    it.informers.of(Collection(CONFIG_MAPS, label_selector="app=web"))  # which the cache gives back at its end


def test_second_watch_ends_with_its_cache(scene: MakeScene) -> None:
    it = scene(Bodies(label_selector="app=web"))
    it.start()
    it.informers.release(it.cache)
    assert [*it.informers] == []


def test_function_of_metadata_costs_one_request_for_each_change_of_those_it_chooses(scene: MakeScene) -> None:
    def chosen(obj: ObjectMeta) -> bool:
        return (obj.labels or {}).get("app") == "web"

    it = scene(Bodies(chosen=chosen, memory=0))
    it.create("a", app="web")
    it.create("b")
    it.start()
    assert it.asked.gets == ["a"]

    it.patch("a", "changed")
    it.patch("b", "changed")
    it.settle()
    assert it.asked.gets == ["a", "a"]
    assert it.read() == "changed"
    assert it.asked.gets == ["a", "a"]


def test_chosen_body_that_cannot_be_fetched_is_fetched_when_it_is_read(scene: MakeScene) -> None:
    def lost(answer: HTTPResponse) -> HTTPResponse:
        raise ConnectionLost("cut")

    it = scene(Bodies(chosen=lambda meta: True))
    it.create("a")
    it.asked.answer = lost
    it.start()
    it.asked.answer = lambda answer: answer

    assert it.read() == "new"
    assert it.asked.gets == ["a", "a"]


def test_a_loop_gets_pages_and_leaves_the_kept_bodies_alone(scene: MakeScene, caplog: pytest.LogCaptureFixture) -> None:
    it = scene()
    it.create(*(f"m{index}" for index in range(60)), app="web")
    it.create("a", "b")
    it.create("c", namespace="y", app="web")
    it.start()
    it.read()

    assert {found["data"]["is"] for found in it.lister.list("x", "app=web")} == {"new"}
    assert [(page["labelSelector"], page["limit"]) for page in it.asked.pages] == [
        ("app=web", "50"),
        ("app=web", "500"),
    ]
    assert len(it.lister.list("x", "app=web")) == 60
    assert len(it.lister.list("y")) == 1
    assert it.asked.gets == ["a", "c"]
    assert [record.getMessage() for record in caplog.records if "many bodies" in record.getMessage()] != []
    assert len([record for record in caplog.records if "many bodies" in record.getMessage()]) == 1


def test_what_a_page_lacks_is_gone_and_a_list_that_expires_is_ended_one_by_one(scene: MakeScene) -> None:
    it = scene()
    it.create(*(f"m{index:02}" for index in range(70)))
    it.start()
    it.user.delete(CONFIG_MAPS, ObjectKey("m01", "x"))  # the watch has not told it

    names = [found["metadata"]["name"] for found in it.lister.list()]
    assert names == [f"m{index:02}" for index in range(70) if index != 1]
    it.settle()

    status = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}'
    real = it.asked.inner.request

    def expiring(request: HTTPRequest, deadline: float) -> HTTPResponse:
        return HTTPResponse(410, {}, status) if "continue" in dict(request.query) else real(request, deadline)

    it.asked.inner.request = expiring  # type: ignore[method-assign]
    assert len(it.lister.list()) == 69
    assert len(it.asked.gets) == 19


def test_an_index_of_metadata_finds_bodies_also_after_they_were_evicted(scene: MakeScene) -> None:
    it = scene(Bodies(memory=0))
    it.cache.add_index("app", lambda obj: [labels_of(obj).get("app", "")])
    it.create("a", "b", app="web")
    it.create("c")
    it.start()

    for _ in range(2):
        assert [found["metadata"]["name"] for found in it.lister.by_index("app", "web")] == ["a", "b"]
    assert it.asked.gets == ["a", "b", "a", "b"]
    assert [key.name for key in it.lister.keys_by_index("app", "web")] == ["a", "b"]
    assert len(it.asked.gets) == 4


def test_handler_reads_metadata_and_no_body(scene: MakeScene) -> None:
    it = scene()
    told: list[tuple[str, str, type[BaseException] | None]] = []

    def body_of(read: Callable[[], object]) -> type[BaseException] | None:
        try:
            read()
        except UsageError as error:
            return type(error)
        return None

    def handle(delta: Delta) -> None:
        obj = delta.object
        told.append((obj.name, labels_of(obj)["app"], body_of(lambda: obj.raw)))
        told.append((meta(obj).name, "lister", body_of(lambda: it.lister.get(obj.key))))

    it.cache.add_handler(handle)
    it.create("a", app="web")
    it.start()
    assert told == [("a", "web", UsageError), ("a", "lister", UsageError)]

    it.read()  # now it is at hand
    it.user.patch(CONFIG_MAPS, A, {"metadata": {"labels": {"app": "db"}}})
    it.settle()
    assert it.asked.gets == ["a"]
    assert told[2:] == [("a", "db", UsageError), ("a", "lister", UsageError)]


def test_index_function_that_reads_a_body_says_what_to_read(scene: MakeScene) -> None:
    it = scene()
    it.create("a")
    it.start()
    with pytest.raises(UsageError, match="x/a is here with its metadata alone, since its cache keeps bodies of some"):
        it.cache.add_index("data", lambda obj: [obj.raw.decode()])


def test_a_subscriber_reads_the_body_of_a_change(scene: MakeScene) -> None:
    it = scene()
    told: list[bool] = []
    it.cache.subscribe(lambda delta: told.append(b'"is":"new"' in delta.object.raw), name="hear")
    it.create("a")
    it.start()
    assert told == [True]

    gone = Head(it.cache.store.list()[0], it.cache.bodies)
    it.user.delete(CONFIG_MAPS, A)
    it.kept.changed(Delta(gone, None), Seen(0, ""))
    with pytest.raises(NotFound, match="x/a is gone"):
        gone.raw  # noqa: B018


def test_transform_changes_bodies_and_metadata(scene: MakeScene) -> None:
    it = scene(transform=without(("metadata", "managedFields"), ("data",)))
    it.create("a", app="web")
    it.start()

    found = it.lister.get(A)
    assert found is not None
    assert "data" not in found
    assert "managedFields" not in found["metadata"]
    assert b"managedFields" not in it.cache.store.list()[0].raw


def test_error_of_the_server_is_the_readers(scene: MakeScene) -> None:
    status = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}'
    it = scene()
    it.create("a")
    it.start()
    it.asked.answer = lambda answer: HTTPResponse(403, {}, status)
    with pytest.raises(Forbidden, match="no"):
        it.lister.get(A)


def test_union_of_two_caches_reads_bodies(scene: MakeScene) -> None:
    it = scene()
    both = Union(it.host, [it.informer("x").reads, it.informer("y").reads])
    lister: Lister[dict[str, Any]] = Lister(both, CONFIG_MAPS, dict)
    it.informer("x").add_index("name", lambda obj: [obj.name])
    it.informer("y").add_index("name", lambda obj: [obj.name])
    it.create("a")
    it.create("a", namespace="y")
    it.start()

    assert [found["data"] for found in lister.list()] == [{"is": "new"}] * 2
    assert [found["metadata"]["namespace"] for found in lister.by_index("name", "a")] == ["x", "y"]
    assert lister.get(ObjectKey("a", "y")) is not None


def test_work_that_saw_a_body_sees_it_to_its_end(scene: MakeScene) -> None:
    it = scene()
    it.create("a")
    it.start()
    store = it.cache.store

    def own(later: Cached) -> bool:
        return True

    with holding(Held(A, {store: store.get(A)}, own)):
        assert it.read() == "new"
        it.user.delete(CONFIG_MAPS, A)
        it.settle()
        assert it.read() == "new"
    assert it.read() is None


def test_work_does_not_see_an_absence_that_its_cache_has_yet_to_show(scene: MakeScene) -> None:
    """Its object is gone, and another one may have the name: the work is another replica's then."""
    it = scene()
    it.create("a")
    it.start()
    store = it.cache.store

    with holding(Held(A, {store: store.get(A)}, lambda later: True)):
        it.user.delete(CONFIG_MAPS, A)
        with pytest.raises(StaleCache, match="x/a has gone, or has another owner, and the cache of its metadata"):
            it.read()


def test_bodies_are_set_for_kinds_alone(scene: MakeScene) -> None:
    """The library has caches of its own, such as that of leases, whose handlers read all of an object."""
    with pytest.raises(UsageError, match=r"bodies are those of a kind: scope_caches\(kinds="):
        scene().informers.scope(CacheScope(bodies=Bodies()))


def test_no_lock_is_held_across_a_request(scene: MakeScene, sim: Simulation) -> None:
    """The simulated transport refuses a call under a lock, so this only has to call it from two threads at once."""
    it = scene()
    it.create("a")
    it.start()
    host: SimulatedHost = it.host
    found: list[str | None] = []
    for name in ("one", "two"):
        host.spawn(name, lambda: found.append(it.read()))
    sim.settle()
    assert found == ["new", "new"]
