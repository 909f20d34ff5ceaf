# SPDX-License-Identifier: Apache-2.0
"""The changes of one run with an operator, as they are recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from apimachinery.objects import ObjectKey
from apimachinery.system import SystemHost
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.resources import CONFIG_MAPS
from controller_runtime.testing.perturbation.judging import judge, learn
from controller_runtime.testing.perturbation.others.changes import Changes
from controller_runtime.testing.perturbation.others.operator_process import Look
from controller_runtime.testing.perturbation.others.outsides import Outsides
from controller_runtime.testing.perturbation.others.properties import Properties
from controller_runtime.testing.perturbation.others.quiet import Quiet
from controller_runtime.testing.perturbation.others.server import writing
from controller_runtime.testing.perturbation.others.triggers import Point
from controller_runtime.testing.perturbation.record import MANAGER, Run
from embedded_apiserver import APIServer
from embedded_apiserver.perturbation import AtChange, AtRest, PerturbedServer

OBJECT = {"metadata": {"name": "a", "namespace": "default"}}


def changes_of(server: APIServer, run: Run, trigger: Point | None = None) -> tuple[Changes, PerturbedServer]:
    host = SystemHost()
    quiet = Quiet(host, lambda _: None, lambda: Look(alive=True, status=None, processes=1, busy=False))
    seen = PerturbedServer(server, lambda write, carry_out: carry_out())
    outsides = Outsides(host, (), 1.0, lambda _: None, lambda: None)
    return Changes(host, server, seen, run, trigger, quiet, Properties((), dict), outsides), seen


def recorded(*, goes: bool, restarts: int = 0, rests: int = 0) -> Run:
    """Return a run in which the operator makes an object, and after rests may delete it and make it again."""
    host = SystemHost()
    server, run = APIServer(host), Run()
    client = Client(host, InProcessTransport(host, server))
    changes, _ = changes_of(server, run)
    with writing(MANAGER, 1):
        client.create(CONFIG_MAPS, OBJECT)
        changes.restarts += restarts
        run.rests += [changes.rest()] * rests
        if goes:
            client.delete(CONFIG_MAPS, ObjectKey("a", "default"))
            client.create(CONFIG_MAPS, OBJECT)
    run.rests.append(changes.rest())
    server.close()
    return run


@pytest.mark.parametrize(("restarts", "rests"), [(1, 0), (0, 1)])
def test_what_was_there_at_a_rest_must_not_go_and_come_again(restarts: int, rests: int) -> None:
    calm = learn([recorded(goes=False, rests=rests)])

    assert judge(calm, recorded(goes=True)).complaints == []
    assert judge(calm, recorded(goes=True, restarts=restarts, rests=rests)).complaints[0] == (
        "configmaps default/a was deleted, and lives to the end of a calm run"
    )


KEY = ObjectKey("a", "default")
WATCH = HTTPRequest("GET", "/api/v1/configmaps", (("watch", "true"),), {}, b"")


def watched(seen: PerturbedServer) -> Watch:
    found = seen.handle(WATCH, lambda: None)
    assert not isinstance(found, HTTPResponse)
    return found


@pytest.fixture
def server() -> Iterator[APIServer]:
    made = APIServer(SystemHost())
    yield made
    made.close()


def test_a_change_is_missed_from_its_coming_to_the_next_one_and_the_watch_ends_then(server: APIServer) -> None:
    trigger = AtChange("configmaps", "configmaps default/a", 2, is_missed=True, is_far=True)
    changes, seen = changes_of(server, Run(), trigger)
    client = Client(SystemHost(), InProcessTransport(SystemHost(), server))
    watch = watched(seen)

    client.create(CONFIG_MAPS, OBJECT)
    assert len(watch.take()[0]) == 1
    assert (changes.has_begun, changes.is_before_the_next_change()) == (False, False)

    client.patch(CONFIG_MAPS, KEY, {"data": {"size": "2"}})
    assert (changes.has_begun, changes.holds) == (True, False)
    assert watch.take() == ([], False)
    assert (changes.holds, changes.is_before_the_next_change(), changes.fired) == (True, True, False)

    client.patch(CONFIG_MAPS, KEY, {"data": {"size": "3"}})
    assert (changes.holds, changes.is_before_the_next_change(), changes.fired) == (False, False, True)
    lines, is_over = watch.take()
    assert is_over
    assert b"410" in lines[0]


def test_a_change_with_no_other_one_to_come_is_not_waited_for_at_the_end(server: APIServer) -> None:
    trigger = AtChange("configmaps", "configmaps default/a", 1, is_missed=True, is_far=True)
    changes, seen = changes_of(server, Run(), trigger)
    watch = watched(seen)
    Client(SystemHost(), InProcessTransport(SystemHost(), server)).create(CONFIG_MAPS, OBJECT)
    watch.take()

    assert changes.is_before_the_next_change()
    changes.is_over = True
    assert not changes.is_before_the_next_change()
    changes.open()
    assert changes.fired


@pytest.mark.parametrize(("shown", "size"), [(0, None), (1, "1"), (2, "2")])
def test_a_past_state_is_that_after_as_many_changes(shown: int, size: str | None, server: APIServer) -> None:
    changes, seen = changes_of(server, Run())
    client = Client(SystemHost(), InProcessTransport(SystemHost(), server))
    client.create(CONFIG_MAPS, {**OBJECT, "data": {"size": "1"}})
    client.patch(CONFIG_MAPS, KEY, {"data": {"size": "2"}})
    client.patch(CONFIG_MAPS, KEY, {"data": {"size": "3"}})

    changes.show_past(AtRest(1, "configmaps", shown))

    listed = seen.handle(
        HTTPRequest("GET", "/api/v1/namespaces/default/configmaps", (("resourceVersion", "0"),), {}, b"")
    )
    assert isinstance(listed, HTTPResponse)
    items = [each for each in json.loads(listed.body)["items"] if each["metadata"]["name"] == "a"]
    assert [each["data"]["size"] for each in items] == ([] if size is None else [size])
