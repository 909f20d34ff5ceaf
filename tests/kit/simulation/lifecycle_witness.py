# SPDX-License-Identifier: Apache-2.0
"""Records the signs of life of each node at the server, and checks what the controllers write about nodes and pods."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from apimachinery.http import Handler, HTTPRequest, HTTPResponse, Watch
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from kit.fault_runs.disk import Disk, Write
from kit.fault_runs.invariants import Violated

OURS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
IN_HAND = 2 * 30.0 + 1.0
"""Seconds that may pass between a question and the write that it was for: two late answers."""
LEASES, NODES, PODS = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/", "/api/v1/nodes/", "/pods/"


class Node:
    """The record of one node at the server.

    Attributes:
        beats: Times of its renewals and posts.
        posts: Times of its posts.
        tainted: From when to when it had a NoExecute taint of ours; the last may not have ended.
        was: The node as it was seen last.
    """

    def __init__(self) -> None:
        self.beats: list[float] = []
        self.posts: list[float] = []
        self.tainted: list[list[float]] = []
        self.was: dict[str, Any] = {}

    def silence(self, at: float) -> float:
        """Return the seconds between the last sign of life before that time and that time."""
        return at - max((beat for beat in self.beats if beat <= at), default=0.0)

    def bore_taint(self, since: float, until: float) -> bool:
        """Return whether it had such a taint at any instant of that interval."""
        return any(span[0] <= until and since <= (span[1] if len(span) > 1 else until) for span in self.tainted)


class Witness:
    """Sees each request of the controllers arrive at the server and end.

    Args:
        sim: The simulation.
        disk: The server's storage.
        controllers: The name of the controllers' host.
        grace: The grace period in seconds.
        node_of: Returns the node of a pod, by its name.

    Attributes:
        evicted: Pods that the controllers deleted, and when.
    """

    def __init__(
        self, sim: Simulation, disk: Disk, controllers: str, grace: float, node_of: Callable[[str], str]
    ) -> None:
        self.nodes: dict[str, Node] = {}
        self.evicted: dict[str, float] = {}
        self._sim = sim
        self._disk = disk
        self._looked_at = 0
        self._violated: Violated | None = None  # reported by `look`, and not on a thread of the server's
        self._controllers = controllers
        self._grace = grace
        self._node_of = node_of
        self._asked: dict[str, list[float]] = {}
        self._begun: dict[int, tuple[HTTPRequest, float]] = {}  # by identity, which the request kept here makes lasting

    def node(self, name: str) -> Node:
        """Return the record of a node."""
        return self.nodes.setdefault(name, Node())

    def look(self) -> None:
        """Take the changes since the last call into account.

        Raises:
            Violated: A change breaks a rule.
        """
        if self._violated is not None:
            raise self._violated
        for write in self._disk.writes[self._looked_at :]:
            self._looked_at += 1
            if write.collection.startswith("leases") and "kube-node-lease" in write.key:
                self.node(write.key.rpartition("/")[2]).beats.append(self._sim.time)
            elif write.collection.startswith("nodes"):
                self._take(write)

    def _take(self, write: Write) -> None:
        node, now = self.node(write.key), self._sim.time
        before, node.was = node.was, json.loads(write.raw or b"{}")
        ready, heartbeat = ready_of(node.was), ready_of(node.was).get("lastHeartbeatTime")
        if ready.get("status") == "True" and heartbeat != ready_of(before).get("lastHeartbeatTime"):
            node.posts.append(now)
            node.beats.append(now)
        if evicts(before) != evicts(node.was):
            node.tainted.append([now]) if evicts(node.was) else node.tainted[-1].append(now)

    def begins(self, host: SimulatedHost, request: HTTPRequest) -> None:
        """Note that a request has arrived."""
        if not host.name.startswith(self._controllers):
            return
        if request.method == "GET":
            self._asked.setdefault(request.path, []).append(self._sim.time)
        else:
            self._begun[id(request)] = request, self._sim.time

    def lands(self, request: HTTPRequest) -> None:
        """Note that a request was carried out."""
        _, began = self._begun.get(id(request), (request, None))
        if began is None:
            return
        body = json.loads(request.body or b"{}")
        if request.method == "PATCH" and request.path.startswith(NODES):
            name, _, subresource = request.path.removeprefix(NODES).partition("/")
            if ready_of(body).get("status") == "Unknown" if subresource else evicts(body):
                self._judge_node(name, began, "tainted NoExecute" if not subresource else "Unknown")
        elif request.method == "DELETE" and PODS in request.path:
            self._judge_pod(request.path.rpartition("/")[2], began)

    def _judge_node(self, name: str, began: float, what: str) -> None:
        node = self.node(name)
        if what != "Unknown" and node.bore_taint(began, began):
            return  # one taint replaces the other, or it is removed by a write about something else
        asked = self._questions(f"{LEASES}{name}", began)
        if all(node.silence(at) <= self._grace for at in asked):
            self._violate(f"{name} is {what}, silent for {node.silence(began):.1f} s")
        if any(began < post for post in node.posts):
            self._violate(f"{name} is {what}, though its status was posted meanwhile")

    def _judge_pod(self, name: str, began: float) -> None:
        self.evicted[name] = self._sim.time
        node = self.node(self._node_of(name))
        first = min(self._questions(f"{NODES}{self._node_of(name)}", began))
        if not node.bore_taint(first, began):
            self._violate(f"{name} is deleted, and its node bears no taint")

    def _violate(self, message: str) -> None:
        self._violated = self._violated or Violated("who lives is not evicted", message)

    def _questions(self, path: str, began: float) -> list[float]:
        """Return when a write may have been decided: as it began, or as the server was asked before it."""
        return [began, *(at for at in self._asked.get(path, ()) if began - IN_HAND <= at <= began)]


class Door:
    """A server whose answers to the controllers the witness sees. Threads: any."""

    def __init__(self, server: Handler, witness: Witness) -> None:
        self._server = server
        self._witness = witness

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """See `wire.Handler.handle`."""
        answer = self._server.handle(request, on_ready)
        if isinstance(answer, HTTPResponse) and answer.status == 200:
            self._witness.lands(request)
        return answer


def ready_of(node: dict[str, Any]) -> dict[str, Any]:
    conditions = node.get("status", {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == "Ready"), {})


def evicts(node: dict[str, Any]) -> bool:
    """Return whether a node has a NoExecute taint of ours."""
    taints = node.get("spec", {}).get("taints") or []
    return any(taint["effect"] == "NoExecute" and taint["key"] in OURS for taint in taints)
