# SPDX-License-Identifier: Apache-2.0
"""A mapper or a predicate that fails for some objects: the others go on, and nothing is lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from kit.noting import Bench, Noting

from apimachinery.errors import DecodeError
from apimachinery.log import fields_of, text_of
from apimachinery.objects import ObjectKey, labels_of
from controller_runtime.api.resources import NODES
from controller_runtime.cache.store import Delta
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.failing import Failing, Fallible
from controller_runtime.controller.handlers import enqueue_mapped, enqueue_object
from controller_runtime.controller.reconciler import Request
from controller_runtime.queue.causes import Cause
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.ends


def team_of(delta: Delta) -> Iterable[Request]:
    """Map a node to its team; raise KeyError for a node without one."""
    return [ObjectKey(labels_of(side)["team"]) for side in (delta.old, delta.new) if side is not None]


def source_of(controller: Controller) -> Fallible:
    trouble = controller.trouble()
    assert trouble is not None
    return trouble.sources[0]


def create(bench: Bench, name: str, team: str | None = None) -> None:
    labels = {} if team is None else {"team": team}
    bench.client.create(NODES, {"metadata": {"name": name, "labels": labels}})


def give(bench: Bench, name: str, team: str | None) -> None:
    bench.client.patch(NODES, ObjectKey(name), {"metadata": {"labels": {"team": team}}})
    bench.sim.settle()


def delete(bench: Bench, name: str) -> None:
    bench.client.delete(NODES, ObjectKey(name))
    bench.sim.settle()


def lines(caplog: pytest.LogCaptureFixture, level: int = logging.INFO) -> list[tuple[str, bool]]:
    """Return the feed's lines, each with whether it shows a traceback."""
    return [
        (text_of(record), bool(record.exc_info))
        for record in caplog.records
        if record.levelno >= level and ("mapped" in text_of(record))
    ]


def test_one_poison_object_among_thousands_stops_nothing(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """The start does not wait for it, all others are reconciled, and it is shown."""
    for number in range(2000):
        create(bench, f"n{number}", None if number == 1000 else "a")
    noting = Noting()
    controller = Controller("teams", noting).watch(NODES, map=team_of)

    bench.start(controller)
    create(bench, "late", "b")
    bench.sim.settle()

    assert {*noting.seen} == {"a", "b"}
    assert source_of(controller).failing(9) == (1, [Failing("Node", ObjectKey("n1000"), 1, "KeyError: 'team'")])
    assert not bench.stop.is_set()
    assert not bench.informers_stop.is_set()
    assert lines(caplog) == [("change cannot be mapped", True)]
    (record,) = [each for each in caplog.records if text_of(each) == "change cannot be mapped"]
    said = fields_of(record)
    assert (said["controller"], said["kind"], said["key"]) == ("teams", "Node", ObjectKey("n1000"))


def test_a_mapper_that_fails_for_a_while_is_tried_with_growing_delays(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    tries, noting, is_broken = list[float](), Noting(), [True]

    def fail_at_first(delta: Delta) -> Iterable[Request]:
        tries.append(bench.host.monotonic())
        if is_broken[0]:
            raise LookupError("the other cache is behind")
        return [delta.key]

    controller = Controller("notes", noting).watch(NODES, map=fail_at_first)
    bench.start(controller)
    with caplog.at_level(logging.DEBUG):
        bench.create("a")
        bench.sim.advance(4.0)
        is_broken[0] = False
        bench.sim.advance(4.0)

    assert [round(each - tries[0], 3) for each in tries] == [0.0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3]
    assert noting.seen == ["a"]
    assert source_of(controller).failing(9) == (0, [])
    assert source_of(controller).errors == 6
    assert lines(caplog) == [("change cannot be mapped", True), ("failing change is mapped", False)]
    ended = [record for record in caplog.records if text_of(record) == "reconciled"]
    causes = [Cause._make(*fields_of(record)["causes"]).text for record in ended]
    assert causes == ["nodes added, mapped after failures"]


def test_a_later_change_is_tried_at_once_with_the_one_that_is_kept(bench: Bench) -> None:
    """Both the team that the node left while its mapper failed and the team that it has now are requested."""
    noting = Noting()
    controller = Controller("teams", noting).watch(NODES, map=team_of)
    bench.start(controller)
    create(bench, "n", "a")
    bench.sim.settle()
    give(bench, "n", None)
    bench.sim.advance(1000.0)
    assert noting.seen == ["a"]

    give(bench, "n", "b")

    assert noting.seen == ["a", "a", "b"]
    assert source_of(controller).failing(9) == (0, [])


def test_changes_that_fail_do_not_make_the_delays_grow(bench: Bench) -> None:
    tries = list[float]()

    def fail(delta: Delta) -> Iterable[Request]:
        tries.append(bench.host.monotonic())
        raise LookupError

    bench.start(Controller("notes", Noting()).watch(NODES, map=fail))
    bench.create("n")
    bench.sim.settle()
    for number in range(50):
        bench.annotate("n", f"{number}")
        bench.sim.settle()
    bench.sim.advance(0.35)

    assert [round(each - tries[0], 3) for each in tries[-2:]] == [0.1, 0.3]


def test_the_deletion_of_an_object_whose_last_state_fails_requests_the_owner_that_it_had(bench: Bench) -> None:
    noting = Noting()
    controller = Controller("teams", noting).watch(NODES, map=team_of)
    bench.start(controller)
    create(bench, "n", "a")
    bench.sim.settle()
    give(bench, "n", None)

    delete(bench, "n")

    assert noting.seen == ["a", "a"]


def test_a_deleted_object_that_fails_is_given_up_so_that_memory_is_bounded(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    controller = Controller("teams", Noting()).watch(NODES, map=team_of)
    bench.start(controller)
    for number in range(100):
        create(bench, f"n{number}")
        bench.sim.settle()
        delete(bench, f"n{number}")
    assert source_of(controller).failing(0)[0] == 100

    bench.sim.advance(600.0)

    assert source_of(controller).failing(0)[0] == 0
    assert ("deletion is given up: it cannot be mapped", False) in lines(caplog)


def test_an_object_that_is_made_again_is_not_taken_for_the_one_before(bench: Bench) -> None:
    noting = Noting()
    seen = list[tuple[str | None, str | None]]()

    def map_and_note(delta: Delta) -> Iterable[Request]:
        requests = team_of(delta)
        seen.append((delta.old and delta.old.uid, delta.new and delta.new.uid))
        return requests

    bench.start(Controller("teams", noting).watch(NODES, map=map_and_note))
    create(bench, "n", "a")
    bench.sim.settle()
    first = seen[0][1]
    give(bench, "n", None)
    delete(bench, "n")
    create(bench, "n")
    bench.sim.settle()

    give(bench, "n", "b")

    # The deletion could be mapped by the state that was mapped, so the new object is new to the mapper.
    second = seen[-1][1]
    assert seen == [(None, first), (first, None), (None, second)]
    assert second != first
    assert noting.seen == ["a", "a", "b"]


def test_a_predicate_that_raises_is_tried_again_and_its_answer_counts(bench: Bench) -> None:
    """Until it answers, the object is not reconciled: the predicate may be what says whose object it is."""
    noting = Noting()

    def is_mine(delta: Delta) -> bool:
        return labels_of(delta.object)["team"] == "mine"

    controller = Controller("mine", noting).watch(NODES, when=is_mine)
    bench.start(controller)
    for name in ("a", "b"):
        create(bench, name)
    bench.sim.advance(10.0)
    assert (noting.seen, source_of(controller).failing(0)[0]) == ([], 2)

    give(bench, "a", "mine")
    give(bench, "b", "others")

    assert (noting.seen, source_of(controller).failing(0)[0]) == (["a"], 0)


def test_an_unreadable_object_is_tried_again_like_any_other(bench: Bench) -> None:
    noting, is_unreadable = Noting(), [True]

    def names(cached: Any) -> Iterable[Request]:
        if is_unreadable[0]:
            raise DecodeError("labels are no texts")
        return [cached.key]

    controller = Controller("notes", noting).watch(NODES, map=enqueue_mapped(names))
    bench.start(controller)
    bench.create("a")
    bench.sim.settle()
    assert source_of(controller).failing(0)[0] == 1
    is_unreadable[0] = False
    bench.sim.advance(0.2)

    assert (noting.seen, source_of(controller).failing(0)[0]) == (["a"], 0)


def result(value: object) -> Callable[[Delta], Any]:
    def map_wrongly(delta: Delta) -> object:
        return value

    return map_wrongly


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("web", "map_wrongly returned 'web', which is not a list of requests", id="a text"),
        pytest.param(["web"], "map_wrongly returned 'web', which is not a Request", id="texts"),
        pytest.param(None, "map_wrongly returned None, which is not a list of requests", id="nothing"),
        pytest.param(ObjectKey("web"), "map_wrongly returned 'web', which is not a Request", id="one request"),
        pytest.param([("web", "ns")], "returned ('web', 'ns'), which is not a Request", id="plain tuples"),
    ],
)
def test_a_mapper_that_returns_no_requests_is_named(
    bench: Bench, caplog: pytest.LogCaptureFixture, value: object, text: str
) -> None:
    bench.start(Controller("notes", Noting()).watch(NODES, map=result(value)))
    bench.create("a")
    bench.sim.settle()

    (record,) = [each for each in caplog.records if text_of(each) == "change cannot be mapped"]
    assert text in str(fields_of(record)["error"])
    assert "return a list of Request(name, namespace)" in str(fields_of(record)["error"])


def test_many_failing_objects_are_a_few_lines_and_one_traceback(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.start(Controller("teams", Noting()).watch(NODES, map=team_of))
    for number in range(1000):
        create(bench, f"n{number}")
    bench.sim.settle()
    bench.sim.advance(60.0)

    told = lines(caplog)
    assert told == [
        ("change cannot be mapped", True),
        *[("change cannot be mapped", False)] * 9,
        *[("change cannot be mapped: many objects", False)] * 2,
    ]


def test_each_place_that_raises_is_shown_with_its_traceback(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def fail(delta: Delta) -> Iterable[Request]:
        if delta.key.name == "a":
            raise KeyError("a")
        raise LookupError("b")

    bench.start(Controller("notes", Noting()).watch(NODES, map=fail))
    bench.create("a", "b", "c")
    bench.sim.settle()

    assert [has_traceback for _, has_traceback in lines(caplog)] == [True, True, False]


def test_a_controller_stops_while_objects_fail(bench: Bench) -> None:
    controller = Controller("teams", Noting()).watch(NODES, map=team_of).watch(NODES, map=enqueue_object)
    bench.start(controller)
    for number in range(10):
        create(bench, f"n{number}")
    bench.sim.advance(1.0)

    bench.stop.set()

    assert controller.join_until(None) == []
    create(bench, "later")
    bench.sim.settle()
    assert not bench.informers_stop.is_set()


@pytest.mark.parametrize("seed", range(20))
def test_whatever_thread_maps_a_change_the_last_team_is_requested(seed: int) -> None:
    """A user changes objects while the mapper fails now and then, and retries run beside the informer."""
    with Simulation(seed) as sim:
        bench, is_broken, teams, noting = Bench.on(sim), [False], dict[str, str](), Noting()
        chance = bench.host.random

        def map_sometimes(delta: Delta) -> Iterable[Request]:
            if is_broken[0]:
                raise LookupError
            return team_of(delta)

        controller = Controller("teams", noting).watch(NODES, map=map_sometimes)
        bench.start(controller)
        for number in range(60):
            is_broken[0] = chance.random() < 0.5
            name, team = f"n{chance.randrange(4)}", f"t{number}"
            if name not in teams:
                create(bench, name, team)
            elif chance.random() < 0.3:
                bench.client.delete(NODES, ObjectKey(name))
                del teams[name]
                continue
            else:
                bench.client.patch(NODES, ObjectKey(name), {"metadata": {"labels": {"team": team}}})
            teams[name] = team
            sim.advance(chance.choice((0.0, 0.0, 0.1, 0.4)))
        is_broken[0] = False
        sim.advance(600.0)

        assert {*teams.values()} <= {*noting.seen}
        assert source_of(controller).failing(9) == (0, [])
        bench.end()
