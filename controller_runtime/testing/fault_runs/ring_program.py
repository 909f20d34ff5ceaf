# SPDX-License-Identifier: Apache-2.0
"""The program whose replicas form the ring: a user writes wishes into nodes, and the owner of each fulfils them."""

from __future__ import annotations

import contextlib
from typing import Any

import attrs

from controller_runtime.api.objects import ObjectKey, annotations_of, meta
from controller_runtime.api.resources import NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.patience import Patience
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.backoff import Backoff
from controller_runtime.core.errors import ControllerRuntimeError
from controller_runtime.core.host import Host
from controller_runtime.core.stop import Stop
from controller_runtime.manager.manager import Manager
from controller_runtime.queue.rate_limiters import ItemExponential
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.config import RingConfig, RingOptions
from controller_runtime.ring.ring import Ring
from controller_runtime.testing.fault_runs.work import DONE, WANTED
from controller_runtime.testing.simulation import SimulatedHost
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport

NAMES = tuple(f"node-{number}" for number in range(8))
"""The nodes: in a ring of few members two of them often change hands together."""
CONFIG = RingConfig(name="ring", namespace="default", lease_duration=6.0, renew_deadline=4.0, retry_period=1.0)
"""The ring, with shorter times than the defaults, so that a run sees many memberships."""
SLOWEST = 3.0
"""Seconds after which a reconcile may send nothing any more."""

LISTED = 45.0
"""Seconds for a list of the nodes of slots that come, at most: a request that was lost is given up after thirty."""

_PATIENCE = Patience(silence=8.0, initial_silence=4.0, overdue=200.0, watch=(4.0, 8.0), backoff=Backoff(cap=2.0))
"""Watches end after some seconds, so that one whose events were lost is not trusted for long."""


@attrs.frozen
class Fulfil(Reconciler):
    """Copies the number `WANTED` of a node to `DONE`, over the version that was read, after a while.

    Attributes:
        nodes: Reads nodes from the cache.
        client: Writes the number.
        host: Its randomness draws how long the work takes.
        asleep: Waits for that long.
    """

    nodes: Lister[dict[str, Any]]
    client: Client
    host: Host
    asleep: Stop

    def reconcile(self, request: Request) -> Result:
        """Do the work of one node, if there is any."""
        node = self.nodes.get(request)
        if node is None or annotations_of(node).get(WANTED) == annotations_of(node).get(DONE):
            return Result()
        self.asleep.wait(self.host.random.choice((0.0, 0.0, 0.5, SLOWEST - 0.5)))
        done = {DONE: annotations_of(node).get(WANTED)}
        patch = {"metadata": {"resourceVersion": meta(node).resource_version, "annotations": done}}
        self.client.patch(NODES, request, patch)
        return Result()


def program(network: Network, host: SimulatedHost, by: RingBy) -> tuple[Manager, Ring]:
    """Return the manager of a replica, and its ring; in a ring by uid it caches the nodes of its slots alone."""
    manager = Manager(host, NetworkTransport(network, host), patience=_PATIENCE, grace=SLOWEST + 2.0)
    ring = manager.ring(CONFIG.name, by, **_options(host))
    if by is RingBy.UID:
        ring.divide(NODES)
    nodes = manager.lister(NODES, dict[str, Any])
    fulfil = ring.shared(Fulfil(nodes, manager.client, host, Stop(host, "asleep")))
    controller = Controller("work", fulfil, workers=2, limiter=ItemExponential(cap=4.0), reconcile_timeout=SLOWEST)
    manager.add(controller.watch(NODES).receive(ring.requests(nodes)))
    return manager, ring


def _options(host: SimulatedHost) -> RingOptions:
    times = RingOptions(
        lease_duration=CONFIG.lease_duration, renew_deadline=CONFIG.renew_deadline, retry_period=CONFIG.retry_period
    )
    return {**times, "identity": host.name.replace("#", "-")}


class Wisher:
    """A user that raises the number `WANTED` of nodes, and deletes nodes and creates them again."""

    def __init__(self, host: Host, client: Client) -> None:
        self._host, self._client = host, client
        self._number = 0

    def run(self, stop: Stop) -> None:
        """Create the nodes, then change one after the other until `stop` is set."""
        for name in NAMES:
            self._create(name)
        while not stop.wait(0.5 + 3.0 * self._host.random.random()):
            name = self._host.random.choice(NAMES)
            try:
                if self._host.random.random() < 0.2:
                    self._client.delete(NODES, ObjectKey(name))
                    self._create(name)
                else:
                    self._number += 1
                    read = self._client.get(NODES, ObjectKey(name), dict[str, Any])
                    decided_on = {"resourceVersion": meta(read).resource_version}
                    change = {"metadata": {**decided_on, "annotations": {WANTED: str(self._number)}}}
                    self._client.patch(NODES, ObjectKey(name), change)
            except ControllerRuntimeError:  # a request was lost, or a creation before
                self._create(name)

    def _create(self, name: str) -> None:
        self._number += 1
        with contextlib.suppress(ControllerRuntimeError):  # it exists, or the request was lost
            self._client.create(NODES, {"metadata": {"name": name, "annotations": {WANTED: str(self._number)}}})
