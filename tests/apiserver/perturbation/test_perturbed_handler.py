# SPDX-License-Identifier: Apache-2.0
"""A client of a server is perturbed once, as a plan says; all others are not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from apimachinery.errors import ConnectionLost
from apimachinery.http import NO_ANSWER, HTTPRequest, HTTPResponse, Watch
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import PODS
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.objects import a_pod
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.perturbation.handler import LATE, PerturbedHandler
from embedded_apiserver.perturbation.lines import version_of
from embedded_apiserver.perturbation.plan_file import Perturbation
from embedded_apiserver.perturbation.triggers import AtChange, AtRest, AtWrite
from embedded_apiserver.protobuf.envelope import STREAM_TYPE
from embedded_apiserver.server import APIServer

A, B = "pods default/a", "pods default/b"


class Perturbed:
    """A perturbed server, its client and its user; the client's process takes a second to start again."""

    def __init__(self, sim: Simulation, plan: Perturbation) -> None:
        self.sim, self.host = sim, sim.host("here")
        self.server = APIServer(self.host)
        self.restarts = 0
        self.said: list[str] = []
        handler = PerturbedHandler(self.host, self.server, self.server, plan, self.restart, self.said.append)
        self.handler = handler
        self.client = Client(self.host, InProcessTransport(self.host, handler))
        self.user = Client(self.host, InProcessTransport(self.host, self.server))

    def restart(self) -> None:
        self.restarts += 1
        Stop(self.host, "restart").wait(1.0)

    def list(self, *query: tuple[str, str], agent: str = "") -> list[str]:
        answer = self.handler.handle(HTTPRequest("GET", "/api/v1/pods", query, {"user-agent": agent}))
        assert isinstance(answer, HTTPResponse)
        if answer is NO_ANSWER:
            raise ConnectionLost("cut")
        return [each["metadata"]["name"] for each in msgspec.json.decode(answer.body)["items"]]

    def watch(self, accept: str = "application/json") -> Watch:
        query = (("watch", "1"), ("resourceVersion", str(self.server.storage.version)))
        answer = self.handler.handle(HTTPRequest("GET", "/api/v1/pods", query, {"accept": accept}), lambda: None)
        assert not isinstance(answer, HTTPResponse)
        return answer

    def create(self, *names: str) -> None:
        for name in names:
            self.user.create(PODS, a_pod(name))


@pytest.fixture
def perturbed(sim: Simulation, request: pytest.FixtureRequest) -> Iterator[Perturbed]:
    made = Perturbed(sim, request.param)
    yield made
    made.server.close()


def with_plan(*plans: Perturbation) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("perturbed", plans, indirect=True)


def seen(watch: Watch) -> list[Any]:
    lines = [msgspec.json.decode(line) for line in watch.take()[0]]
    return [line["object"]["metadata"].get("name") or line["object"]["code"] for line in lines]


@with_plan(*[Perturbation(AtWrite("POST pods default/", 2, landed)) for landed in (True, False)])
def test_a_client_loses_its_connection_at_one_write_until_it_has_started_again(perturbed: Perturbed) -> None:
    perturbed.client.create(PODS, a_pod("a"))
    with pytest.raises(ConnectionLost):
        perturbed.client.create(PODS, a_pod("b"))
    with pytest.raises(ConnectionLost):
        perturbed.client.get(PODS, ObjectKey("a", "default"))
    perturbed.sim.advance(2.0)

    landed = perturbed.said == ["perturbed: the client's connection is cut at POST pods default/ after it had landed"]
    assert perturbed.restarts == 1
    assert perturbed.list() == (["a", "b"] if landed else ["a"])
    perturbed.client.create(PODS, a_pod("c"))


@with_plan(Perturbation(AtWrite("POST pods default/", 1, landed=True), client="kopf"))
def test_only_the_client_that_the_plan_names_is_perturbed(perturbed: Perturbed) -> None:
    perturbed.client.create(PODS, a_pod("a"))

    assert perturbed.said == []


@with_plan(Perturbation(AtChange("pods", "", 1, is_missed=False)))
def test_a_resource_stands_still_until_all_else_rests_and_earlier_changes_do_not_count(perturbed: Perturbed) -> None:
    perturbed.create("a")
    watch = perturbed.watch()
    perturbed.create("b")
    assert seen(watch) == []
    perturbed.sim.advance(0.7)
    perturbed.create("c")
    perturbed.sim.advance(0.7)
    assert seen(watch) == []
    perturbed.sim.advance(0.7)

    assert seen(watch) == ["b", "c"]
    watch.close()


@with_plan(Perturbation(AtChange("pods", B, 1, is_missed=True)))
def test_a_missed_change_ends_the_watch_at_the_next_one_of_its_object(perturbed: Perturbed) -> None:
    watch = perturbed.watch()
    perturbed.create("a", "b")
    assert seen(watch) == ["a"]
    perturbed.sim.advance(60.0)
    assert seen(watch) == []
    perturbed.user.delete(PODS, ObjectKey("b", "default"))
    perturbed.sim.advance(2.0)

    assert seen(watch) == [410]


@with_plan(Perturbation(AtChange("pods", B, 1, is_missed=True)))
def test_a_change_is_missed_in_protobuf_as_well(perturbed: Perturbed) -> None:
    watch = perturbed.watch(STREAM_TYPE)
    perturbed.create("a", "b")
    (frame,), _ = watch.take()
    made = perturbed.user.get(PODS, ObjectKey("a", "default"))
    perturbed.user.delete(PODS, ObjectKey("b", "default"))
    (last,), is_over = watch.take()

    assert not frame.startswith(b"{")
    assert version_of(frame) == int(made.metadata.resource_version or 0)
    assert is_over
    assert last.startswith(len(last[4:]).to_bytes(4, "big"))
    assert b"Expired" in last


@with_plan(Perturbation(AtChange("pods", B, 1, is_missed=True), forced=True))
def test_a_forced_plan_leaves_a_change_out_of_a_watch_that_goes_on(perturbed: Perturbed) -> None:
    watch = perturbed.watch()
    perturbed.create("a", "b", "c")
    perturbed.sim.advance(2.0)

    assert [*seen(watch), *seen(watch)] == ["a", "c"]
    watch.close()


@with_plan(*[Perturbation(AtRest(0, "pods", 1, B, 1), forced=forced) for forced in (True, False)])
def test_a_client_that_starts_again_is_shown_the_past_for_a_while(perturbed: Perturbed) -> None:
    perturbed.list()
    perturbed.create("a", "b")
    perturbed.sim.advance(1.5)
    with contextlib.suppress(ConnectionLost):  # the process is ending
        perturbed.list()
    perturbed.sim.advance(1.0)

    assert perturbed.restarts == 1
    assert perturbed.list(("resourceVersion", "0")) == ["a"]
    assert perturbed.list() in (["a"], ["a", "b"])
    watch = perturbed.watch()
    perturbed.create("c")
    assert seen(watch) == []
    perturbed.sim.advance(LATE + 0.1)
    assert seen(watch) == ["c"]
    assert perturbed.list(("resourceVersion", "0")) == ["a", "b", "c"]
    watch.close()


@with_plan(Perturbation(AtRest(0, "pods", 1, B, 1), forced=True), Perturbation(AtRest(0, "pods", 1, B, 1)))
def test_the_newest_state_is_old_in_a_forced_plan_alone(perturbed: Perturbed, request: pytest.FixtureRequest) -> None:
    perturbed.list()
    perturbed.create("a", "b")
    perturbed.sim.advance(3.0)

    is_forced = request.node.callspec.params["perturbed"].forced
    assert perturbed.list() == (["a"] if is_forced else ["a", "b"])
    assert perturbed.list(agent="kubectl/v1.36.2") == ["a", "b"]


@with_plan(Perturbation(AtRest(0)))
def test_a_client_may_end_before_anything_changed(perturbed: Perturbed) -> None:
    perturbed.sim.advance(5.0)
    assert perturbed.restarts == 0
    perturbed.list()
    perturbed.sim.advance(5.0)

    assert perturbed.restarts == 1
    assert perturbed.list() == []
