# SPDX-License-Identifier: Apache-2.0
"""Garbage collection and the cleanup of namespaces, judged by the objects that are left."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import pytest
from kit.apiserver.asking import LEASES, NODES, Asking, lease, node

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from apimachinery.stop import Stop, spawn
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History
from embedded_apiserver.upkeep.garbage import GarbageCollector
from embedded_apiserver.upkeep.internal_client import InternalClient
from embedded_apiserver.upkeep.ownership import Item
from embedded_apiserver.upkeep.upkeep import PACE, RETRY_AFTER, Upkeep

CONFIG_MAP = KINDS.find("", "v1", "configmaps")
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def upkeep(sim: Simulation, ask: Asking) -> Upkeep:
    return Upkeep(sim.host("upkeep"), ask.server)


def owned(name: str, *owners: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "ownerReferences": list(owners), **metadata}}


def owner(obj: dict[str, Any], *, api_version: str = "v1", kind: str = "ConfigMap", **more: Any) -> dict[str, Any]:
    metadata = obj["metadata"]
    return {"apiVersion": api_version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"], **more}


def names(ask: Asking, path: str = MAPS) -> list[str]:
    return [item["metadata"]["name"] for item in ask.ok("GET", path)["items"] if "root-ca" not in str(item)]


@pytest.mark.scenario("H-46", "F-46")
def test_a_node_lease_goes_after_its_node(ask: Asking, upkeep: Upkeep) -> None:
    """A lease that a node owns exists as long as the node does, and is collected after it."""
    reference = owner(ask.ok("POST", NODES, node("n")), kind="Node")
    ask.ok("POST", LEASES, lease("n", {"ownerReferences": [reference]}))
    assert upkeep.settle()
    assert names(ask, LEASES) == ["n"]

    ask.ok("DELETE", f"{NODES}/n")

    assert upkeep.settle()
    assert names(ask, LEASES) == []


@pytest.mark.scenario("H-46")
def test_an_owner_made_anew_under_the_same_name_is_another(ask: Asking, upkeep: Upkeep) -> None:
    """The dependents of a deleted object go, although another object has its name, with another uid."""
    first = ask.ok("POST", MAPS, owned("top"))
    ask.ok("POST", MAPS, owned("child", owner(first)))
    ask.ok("DELETE", f"{MAPS}/top")
    ask.ok("POST", MAPS, owned("top"))

    assert upkeep.settle()

    assert names(ask) == ["top"]


@pytest.mark.scenario("H-47")
def test_what_one_of_two_owners_still_holds_loses_the_other_reference_only(ask: Asking, upkeep: Upkeep) -> None:
    """If one of two owners is deleted, its reference goes; the object and the other reference stay."""
    one, two = (ask.ok("POST", MAPS, owned(name)) for name in ("one", "two"))
    ask.ok("POST", MAPS, owned("child", owner(one), owner(two)))

    ask.ok("DELETE", f"{MAPS}/one")
    assert upkeep.settle()

    references = ask.ok("GET", f"{MAPS}/child")["metadata"]["ownerReferences"]
    assert [reference["name"] for reference in references] == ["two"]


@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#1459")
def test_grandchildren_go_too(ask: Asking, upkeep: Upkeep) -> None:
    top = ask.ok("POST", MAPS, owned("top"))
    child = ask.ok("POST", MAPS, owned("child", owner(top)))
    ask.ok("POST", MAPS, owned("grandchild", owner(child)))

    ask.ok("DELETE", f"{MAPS}/top")

    assert upkeep.settle()
    assert names(ask) == []


@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#1459")
def test_an_owner_deleted_in_the_foreground_waits_for_the_dependents_that_block(ask: Asking, upkeep: Upkeep) -> None:
    top = ask.ok("POST", MAPS, owned("top"))
    ask.ok("POST", MAPS, owned("child", owner(top, blockOwnerDeletion=True), finalizers=["example.com/hold"]))

    ask.ok("DELETE", f"{MAPS}/top", propagationPolicy="Foreground")
    assert upkeep.settle()
    assert names(ask) == ["child", "top"]
    assert "deletionTimestamp" in ask.ok("GET", f"{MAPS}/child")["metadata"]

    ask.patch(f"{MAPS}/child", {"metadata": {"finalizers": None}})
    assert upkeep.settle()
    assert names(ask) == []


@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#1459")
def test_an_owner_deleted_with_orphans_leaves_them_without_reference(ask: Asking, upkeep: Upkeep) -> None:
    top = ask.ok("POST", MAPS, owned("top"))
    ask.ok("POST", MAPS, owned("child", owner(top)))

    ask.ok("DELETE", f"{MAPS}/top", propagationPolicy="Orphan")
    assert upkeep.settle()

    assert names(ask) == ["child"]
    assert "ownerReferences" not in ask.ok("GET", f"{MAPS}/child")["metadata"]


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param({"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "u"}, id="unserved-kind"),
        pytest.param({"apiVersion": "v9", "kind": "ConfigMap", "name": "t", "uid": "u"}, id="unserved-version"),
    ],
)
def test_an_owner_that_cannot_be_judged_holds_its_dependents(
    ask: Asking, upkeep: Upkeep, reference: dict[str, Any]
) -> None:
    ask.ok("POST", MAPS, owned("child", reference))

    assert upkeep.settle()

    assert names(ask) == ["child"]


def test_what_has_no_namespace_cannot_lose_an_owner_that_has_one(ask: Asking, upkeep: Upkeep) -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u"}
    ask.ok("POST", NODES, node("n", metadata={"ownerReferences": [reference]}))

    assert upkeep.settle()

    assert names(ask, NODES) == ["n"]


@pytest.mark.elsewhere("kubernetes-sigs/kubebuilder#2857")
def test_a_namespace_goes_with_all_that_is_in_it(ask: Asking, upkeep: Upkeep) -> None:
    ask.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}})
    ask.ok("POST", "/api/v1/namespaces/x/configmaps", owned("a"))
    ask.ok("POST", LEASES.replace("default", "x"), lease("a"))

    ask.ok("DELETE", "/api/v1/namespaces/x")

    assert upkeep.settle()
    assert ask("GET", "/api/v1/namespaces/x")[0] == 404
    assert names(ask, "/api/v1/configmaps") == names(ask, "/apis/coordination.k8s.io/v1/leases") == []


def test_a_namespace_waits_for_what_waits_in_it(ask: Asking, upkeep: Upkeep) -> None:
    ask.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}})
    ask.ok("POST", "/api/v1/namespaces/x/configmaps", owned("a", finalizers=["example.com/hold"]))
    ask.ok("DELETE", "/api/v1/namespaces/x")
    assert upkeep.settle()
    assert ask.ok("GET", "/api/v1/namespaces/x")["status"]["phase"] == "Terminating"

    ask.patch("/api/v1/namespaces/x/configmaps/a", {"metadata": {"finalizers": None}})

    assert upkeep.settle()
    assert ask("GET", "/api/v1/namespaces/x")[0] == 404


def test_more_changes_than_the_history_keeps_are_made_up_for(sim: Simulation) -> None:
    server = APIServer(sim.host("apiserver"), history=History(changes=1))
    ask, upkeep = Asking(server), Upkeep(sim.host("upkeep"), server)
    tops = [ask.ok("POST", MAPS, owned(f"top-{number}")) for number in range(3)]
    for top in tops:
        ask.ok("POST", MAPS, owned(f"child-of-{top['metadata']['name']}", owner(top)))
    assert upkeep.settle()

    for top in tops:
        ask.ok("DELETE", f"{MAPS}/{top['metadata']['name']}")

    assert upkeep.settle()
    assert names(ask) == []


class Interfering:
    """A server on which another client changes the object before each of the first `times` writes."""

    def __init__(self, ask: Asking, times: int) -> None:
        self.ask, self.left = ask, times

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        if self.left:
            self.left -= 1
            self.ask.patch(request.path, {"data": {"left": str(self.left)}})
        return self.ask.server.handle(request, on_ready)


def test_what_somebody_else_wrote_in_between_is_decided_again(sim: Simulation, ask: Asking) -> None:
    top = ask.ok("POST", MAPS, owned("top"))
    ask.ok("POST", MAPS, owned("child", owner(top)))
    ask.ok("DELETE", f"{MAPS}/top")
    collector = GarbageCollector(ask.server.storage, ask.server.kinds, InternalClient(Interfering(ask, 2), "test"))
    assert CONFIG_MAP is not None
    child = Item(CONFIG_MAP, "default/child")

    looks = [collector.look(child) for _ in range(3)]

    assert looks == [False, False, True]
    assert names(ask) == []


def test_it_runs_until_it_is_stopped_and_sees_what_happens_meanwhile(sim: Simulation, ask: Asking) -> None:
    host = sim.host("upkeep")
    stop = Stop(host)
    thread = spawn(host, stop, "upkeep", lambda: Upkeep(host, ask.server).run(stop))
    sim.settle()
    top = ask.ok("POST", MAPS, owned("top"))
    ask.ok("POST", MAPS, owned("child", owner(top)))

    ask.ok("DELETE", f"{MAPS}/top")
    sim.advance(3 * PACE)
    left = names(ask)
    stop.set()

    assert left == []
    assert thread.join_until(None)


class Failing:
    """A server that fails `times` times and records the times of the requests."""

    def __init__(self, ask: Asking, host: SimulatedHost, times: int) -> None:
        self.storage, self.kinds, self.records, self.host = ask.server.storage, ask.server.kinds, None, host
        self.ask, self.left = ask, times
        self.asked_at: list[float] = []

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        self.asked_at.append(self.host.monotonic())
        self.left -= 1
        return HTTPResponse(500, {}, b"") if self.left >= 0 else self.ask.server.handle(request, on_ready)


def test_what_fails_is_tried_again_a_second_later(sim: Simulation, ask: Asking) -> None:
    host = sim.host("upkeep")
    stop, server = Stop(host), Failing(ask, host, 2)
    top = ask.ok("POST", MAPS, owned("top"))
    ask.ok("POST", MAPS, owned("child", owner(top)))
    ask.ok("DELETE", f"{MAPS}/top")
    upkeep = Upkeep(host, cast(APIServer, server))

    thread = spawn(host, stop, "upkeep", lambda: upkeep.run(stop))
    sim.advance(10.0)
    stop.set()

    gaps = [later - sooner for sooner, later in pairwise(server.asked_at)]
    assert gaps == pytest.approx([RETRY_AFTER + PACE] * 2)
    assert names(ask) == []
    assert thread.join_until(None)


def test_an_object_whose_owners_are_all_there_is_not_written(sim: Simulation, ask: Asking) -> None:
    top = ask.ok("POST", MAPS, owned("top"))
    ask.ok("POST", MAPS, owned("child", owner(top)))
    server = Failing(ask, sim.host("upkeep"), 0)
    collector = GarbageCollector(ask.server.storage, ask.server.kinds, InternalClient(server, "test"))
    assert CONFIG_MAP is not None

    assert collector.look(Item(CONFIG_MAP, "default/child"))

    assert server.asked_at == []


def test_upkeep_of_a_guarded_server_shows_its_token(sim: Simulation) -> None:
    server = APIServer(sim.host("guarded"), token="secret")
    assert CONFIG_MAP is not None
    headers = {"authorization": "Bearer secret", "content-type": "application/json"}
    orphan = owned("child", {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u"})
    made = server.handle(HTTPRequest("POST", MAPS, (), headers, json.dumps(orphan).encode()))
    assert isinstance(made, HTTPResponse)
    assert made.status == 201

    assert Upkeep(sim.host("stranger"), server).settle()
    assert server.storage.get(CONFIG_MAP.resource, "default/child") is not None
    assert Upkeep(sim.host("upkeep"), server, "secret").settle()

    assert server.storage.get(CONFIG_MAP.resource, "default/child") is None
