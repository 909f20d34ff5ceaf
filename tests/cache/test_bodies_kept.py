# SPDX-License-Identifier: Apache-2.0
"""Bodies that a cache keeps, and requests for many of them, while objects change, go, and leave a share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kit.cache.bodies import A, MakeScene, Scene, scenes

from apimachinery.errors import ConnectionLost, DecodeError, NoSuchKind, NotFound, StaleCache, UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, Received, labels_of
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.collection import Collection
from controller_runtime.cache.bodies import Bodies, Body, Seen
from controller_runtime.cache.delta import Delta
from controller_runtime.cache.held import Held, holding
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.share import Share
from controller_runtime.cache.transforms import edited
from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def scene(sim: Simulation) -> Iterator[MakeScene]:
    with scenes(sim) as make:
        yield make


def is_web(obj: ObjectMeta) -> bool:
    return (obj.labels or {}).get("app") == "web"


def label(it: Scene, app: str) -> None:
    it.user.patch(CONFIG_MAPS, A, {"metadata": {"labels": {"app": app}}})


class TestChosen:
    """Bodies that a function chooses."""

    @pytest.mark.parametrize(("before", "after"), [("db", "web"), ("web", "db")])
    def test_body_that_came_before_its_metadata_is_kept_as_the_metadata_has_it_then(
        self, scene: MakeScene, before: str, after: str
    ) -> None:
        it = scene(Bodies(chosen=is_web))
        it.create("a", app="web" if before == "web" else "db")
        it.asked.before_answer = lambda: label(it, after)  # the watch has not brought it
        it.start() if before == "web" else (it.start(), it.read())
        it.settle()

        assert it.asked.gets == ["a"]
        assert len(it.kept) == 1
        assert (it.kept.chosen_size > 0) is (after == "web")

    def test_nothing_is_kept_of_an_object_that_went_while_it_was_asked_for(self, scene: MakeScene) -> None:
        it = scene(Bodies(chosen=is_web))
        it.create("a", app="web")

        def go() -> None:
            it.user.delete(CONFIG_MAPS, A)
            it.stop.wait(1.0)  # until the cache of the metadata shows it

        it.asked.before_answer = go
        it.start()
        assert it.asked.gets == ["a"]
        assert (len(it.kept), it.kept.held) == (0, 0)

    def test_several_changes_at_once_cost_one_request(self, scene: MakeScene) -> None:
        it = scene(Bodies(chosen=is_web))
        it.create("a", app="web")

        def change() -> None:
            it.asked.before_answer = lambda: None
            for data in ("1", "2", "3"):
                it.patch("a", data)
            it.stop.wait(1.0)

        it.asked.before_answer = change
        it.start()
        assert it.asked.gets == ["a"]
        assert it.read() == "3"
        assert it.asked.gets == ["a"]

    def test_body_is_kept_as_the_metadata_has_it_after_the_request(self, scene: MakeScene) -> None:
        def lost(answer: HTTPResponse) -> HTTPResponse:
            raise ConnectionLost("cut")

        def change() -> None:
            label(it, "db")
            it.stop.wait(1.0)  # the function has been asked about the new metadata, and chose nothing

        it = scene(Bodies(chosen=is_web))
        it.create("a", app="web")
        it.asked.answer = lost
        it.start()
        it.asked.answer, it.asked.before_answer = (lambda answer: answer), change
        it.host.spawn("reader", it.read)
        it.settle()
        assert (len(it.kept), it.kept.chosen_size) == (1, 0)

    def test_chosen_bodies_beyond_a_bound_are_told_once(
        self, scene: MakeScene, caplog: pytest.LogCaptureFixture
    ) -> None:
        it = scene(Bodies(chosen=is_web), warn_at=600)
        it.create("a", "b", "c", "d", app="web")
        it.start()
        assert it.kept.chosen_size > 600
        assert sum("chosen bodies take much memory" in each.getMessage() for each in caplog.records) == 1


class Halves:
    """Two slots, by name."""

    def slot_of(self, cached: Cached) -> int:
        return int(cached.name >= "b")

    def selector(self, slots: int) -> str:
        return ""


def test_bodies_of_objects_that_leave_the_share_are_dropped(scene: MakeScene) -> None:
    it = scene(Bodies(chosen=is_web))
    share = Share(it.host, Halves())
    it.informers.release(it.cache)
    it.informers.divide(CONFIG_MAPS, share)
    it.cache = it.informer()
    lister: Lister[dict[str, Any]] = Lister(it.cache.reads, CONFIG_MAPS, dict)
    share.want(0b11)
    it.create("a", app="web")
    it.create("b")
    it.start()
    assert lister.get(ObjectKey("b", "x")) is not None
    assert len(it.kept) == 2

    share.want(0b10)
    assert [*map(str, lister.keys())] == ["x/b"]
    assert (len(it.kept), it.kept.chosen_size) == (1, 0)


def test_second_watch_that_saw_a_restore_before_it_was_one_is_read(scene: MakeScene) -> None:
    it = scene(Bodies(label_selector="app=web"))
    it.create("a", app="web")
    watched = it.informer("x", "app=web")
    it.start()
    watched.store.replace({each.plain_key: each for each in watched.store.list()}, "1")
    assert watched.store.resets == 1

    lister: Lister[dict[str, Any]] = Lister(it.informer("x").reads, CONFIG_MAPS, dict)
    it.settle()
    assert lister.get(A) is not None
    assert it.asked.gets == []


@pytest.mark.parametrize(
    ("page", "error"),
    [(b"<html>no such page</html>", NotFound), (b"404 page not found\n", NoSuchKind)],
    ids=["of a proxy", "of a server without the kind"],
)
def test_a_404_that_does_not_name_the_object_is_no_absence(
    scene: MakeScene, page: bytes, error: type[Exception]
) -> None:
    it = scene()
    it.create("a")
    it.start()
    it.asked.answer = lambda answer: HTTPResponse(404, {}, page)
    with pytest.raises(error):
        it.read()
    it.asked.answer = lambda answer: answer
    assert it.read() == "new"


def test_body_that_a_restore_lost_leaves_its_place_to_an_older_one(scene: MakeScene) -> None:
    it = scene()
    it.create("a", "b")
    it.start()
    head, seen = it.cache.store.get(A), Seen(it.cache.store.resets, it.cache.store.version)
    assert head is not None
    lost = Received(head.raw, head.name, head.namespace, head.uid, seen.version)
    it.kept.put(head.plain_key, Body(head.uid, seen, lost), chosen=False)

    assert (it.read(), it.read()) == ("new", "new")
    assert it.asked.gets == ["a"]


def test_body_that_was_asked_for_before_a_restore_is_asked_for_again(scene: MakeScene) -> None:
    it = scene()
    it.create("a")
    it.start()
    store = it.cache.store
    it.asked.before_answer = lambda: store.replace({each.plain_key: each for each in store.list()}, "1")
    it.read()
    it.asked.before_answer = lambda: None
    it.read()
    assert (it.asked.gets, store.resets) == (["a", "a"], 1)


def test_all_of_a_collection_is_kept_if_that_is_asked_for_first(scene: MakeScene) -> None:
    it = scene()
    assert it.informers.of(Collection(CONFIG_MAPS, "x"), whole=True).bodies is None
    assert it.informer("x").bodies is None
    with pytest.raises(UsageError, match="bodies on demand is cached in part already: ask for all of it before"):
        it.informers.of(Collection(CONFIG_MAPS), whole=True)
    it.start()


class TestMany:
    """Reads of many bodies."""

    def test_bodies_at_hand_are_not_asked_for_and_all_are_counted(
        self, scene: MakeScene, caplog: pytest.LogCaptureFixture
    ) -> None:
        it = scene()
        it.create("a", "b", "c")
        it.start()
        it.read()

        assert len(it.lister.list()) == 3
        assert it.asked.gets == ["a", "b", "c"]
        assert (it.kept.hits, it.kept.misses) == (1, 3)
        assert [each for each in caplog.records if "many bodies" in each.getMessage()] == []

    def test_pages_are_of_the_namespace_no_older_than_the_metadata_and_transformed(self, scene: MakeScene) -> None:
        it = scene(transform=edited(lambda obj: obj.pop("data", None)))
        it.create(*(f"m{index:02}" for index in range(12)))
        it.create("b", namespace="y")
        it.start()

        assert ["data" in found for found in it.lister.list("x")] == [False] * 12
        [page] = it.asked.pages
        assert it.asked.lists == ["/api/v1/namespaces/x/configmaps"]
        assert (page["resourceVersion"], page["resourceVersionMatch"]) == (it.cache.store.version, "NotOlderThan")

    def test_handler_that_lists_is_refused(self, scene: MakeScene) -> None:
        it = scene()
        it.create("a")
        refused: list[str] = []

        def handle(delta: Delta) -> None:
            with pytest.raises(UsageError, match="a mapper, a predicate or an index must not wait for it"):
                it.lister.list()
            refused.append(delta.key.name)

        it.cache.add_handler(handle)
        it.start()
        assert refused == ["a"]

    def test_work_sees_its_object_in_a_list_as_by_a_read(self, scene: MakeScene) -> None:
        it = scene()
        it.create("a")
        it.start()
        store = it.cache.store
        with holding(Held(A, {store: store.get(A)}, lambda later: True)):
            it.user.delete(CONFIG_MAPS, A)
            with pytest.raises(StaleCache, match="x/a has gone, or has another owner"):
                it.lister.list()

    def test_selected_objects_are_found_though_their_bodies_are_stored_without_labels(self, scene: MakeScene) -> None:
        it = scene(transform=edited(lambda obj: obj["metadata"].pop("labels", None)))
        it.create("a", app="web")
        it.start()
        assert [found["metadata"]["name"] for found in it.lister.list(selector="app=web")] == ["a"]

    def test_those_of_an_index_are_no_reason_to_list_a_large_collection(
        self, scene: MakeScene, caplog: pytest.LogCaptureFixture
    ) -> None:
        it = scene()
        it.cache.add_index("app", lambda obj: [labels_of(obj).get("app", "")])
        it.create(*(f"a{index:02}" for index in range(11)), app="web")
        it.create(*(f"b{index:03}" for index in range(100)))
        it.start()

        assert len(it.lister.by_index("app", "web")) == 11
        assert (it.asked.pages, len(it.asked.gets)) == ([], 11)
        assert [each for each in caplog.records if "many bodies" in each.getMessage()] != []

    def test_a_selected_object_whose_body_has_other_labels_by_now_is_left_out(self, scene: MakeScene) -> None:
        it = scene()
        it.create("a", app="web")
        it.start()
        it.asked.before_answer = lambda: label(it, "db")

        assert it.lister.list("x", "app=web") == []
        assert it.lister.list("x", "app") != []

    @pytest.fixture
    def seventy(self, scene: MakeScene) -> Scene:
        it = scene()
        it.create(*(f"m{index:02}" for index in range(70)))
        it.start()
        return it

    def answered(self, it: Scene, other: Callable[[dict[str, str]], dict[str, Any] | str]) -> None:
        """Have pages after the first one answered with a status, or as another token would be."""
        real = it.asked.inner.request

        def request(request: HTTPRequest, deadline: float) -> HTTPResponse:
            query = dict(request.query)
            if "continue" not in query:
                return real(request, deadline)
            told = other(query)
            if isinstance(told, str):
                query["continue"] = told
                return real(request._replace(query=(*query.items(),)), deadline)
            return HTTPResponse(int(told.get("code", 200)), {}, json.dumps(told).encode())

        it.asked.inner.request = request  # type: ignore[method-assign]

    def test_a_list_that_expires_goes_on_by_the_token_of_the_error(self, seventy: Scene) -> None:
        tokens: list[str] = []

        def other(query: dict[str, str]) -> dict[str, Any] | str:
            tokens.append(query["continue"])
            if len(tokens) > 1:
                return tokens[0]
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
            return status | {"metadata": {"continue": "newer"}}

        self.answered(seventy, other)
        assert len(seventy.lister.list()) == 70
        assert tokens[1:] == ["newer"]
        assert seventy.asked.gets == []

    def test_a_list_without_an_end_is_given_up(self, seventy: Scene) -> None:
        def other(query: dict[str, str]) -> dict[str, Any]:
            metadata = {"resourceVersion": "1", "continue": query["continue"]}
            return {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": []}

        self.answered(seventy, other)
        with pytest.raises(DecodeError, match="the list was given up: a page continues with its own continue token"):
            seventy.lister.list()

    def test_an_object_of_a_list_that_cannot_be_read_is_not_taken_for_absent(self, seventy: Scene) -> None:
        real = seventy.asked.inner.request

        def request(request: HTTPRequest, deadline: float) -> HTTPResponse:
            answer = real(request, deadline)
            found = json.loads(answer.body)
            found["items"][0]["kind"] = "Other"
            return HTTPResponse(200, answer.headers, json.dumps(found).encode())

        seventy.asked.inner.request = request  # type: ignore[method-assign]
        with pytest.raises(DecodeError, match="Other, not a v1 ConfigMap"):
            seventy.lister.list()
