# SPDX-License-Identifier: Apache-2.0
"""The program whose replicas form the ring: a user writes wishes into objects, and the owner of each fulfils them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Protocol

import attrs

from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.objects import ObjectKey, annotations_of, meta
from controller_runtime.api.resources import NODES, Resource
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

NODE_KEYS = tuple(ObjectKey(f"node-{number}") for number in range(8))
"""The nodes: in a ring of few members two of them often change hands together."""
TENANT_KEYS = tuple(
    ObjectKey(name, tenant)
    for tenant in ("default", "kube-system", "kube-public", "kube-node-lease")
    for name in ("first", "second")
)
"""Two objects in each of the namespaces that every server has: those of one namespace share a slot."""
CONFIG = RingConfig(name="ring", namespace="default", lease_duration=6.0, renew_deadline=4.0, retry_period=1.0)
"""The ring, with shorter times than the defaults, so that a run sees many memberships."""
SLOWEST = 3.0
"""Seconds after which a reconcile may send nothing any more."""

LISTED = 5.0
"""Seconds for a list of the objects of slots that come: one that was refused is asked for again after four at most."""
GIVEN_UP = 32.0
"""Seconds after which a list whose request or answer was lost is given up and asked for again."""

_PATIENCE = Patience(silence=8.0, initial_silence=4.0, overdue=200.0, watch=(4.0, 8.0), backoff=Backoff(cap=2.0))
"""Watches end after some seconds, so that one whose events were lost is not trusted for long."""


@attrs.frozen
class Wishes:
    """The objects that the wishes are written into.

    Attributes:
        kind: Their kind.
        keys: Their keys.
    """

    kind: Resource[Any]
    keys: tuple[ObjectKey, ...]


WISHES = {
    RingBy.NAMESPACE: Wishes(CONFIG_MAPS, TENANT_KEYS),
    RingBy.NAME: Wishes(NODES, NODE_KEYS),
    RingBy.UID: Wishes(NODES, NODE_KEYS),
}
"""The objects, for each kind of ring that is tried."""


Objects = Lister[dict[str, Any]]
"""Reads the objects from the cache of a replica."""


class Witness(Protocol):
    """Is told what reconciles see; called on their threads, and must not wait."""

    def saw(self, host: SimulatedHost, key: ObjectKey, found: Mapping[str, Any] | None) -> None:
        """Take what a reconcile sees when it begins."""

    def saw_again(self, host: SimulatedHost, key: ObjectKey, found: Mapping[str, Any] | None) -> None:
        """Take what a reconcile sees later of an object that it saw when it began."""


@attrs.frozen
class Fulfil(Reconciler):
    """Copies the number `WANTED` of an object to `DONE`, over the version that was read, after a while.

    Attributes:
        kind: The kind of the objects.
        objects: Reads them from the cache.
        client: Writes the number.
        witness: Is told what the work sees.
        host: Its randomness draws how long the work takes.
        asleep: Waits for that long.
    """

    kind: Resource[Any]
    objects: Objects
    client: Client
    witness: Witness
    host: SimulatedHost
    asleep: Stop

    def reconcile(self, request: Request) -> Result:
        """Do the work of one object, if there is any."""
        found = self.objects.get(request)
        self.witness.saw(self.host, request, found)
        if found is None or annotations_of(found).get(WANTED) == annotations_of(found).get(DONE):
            return Result()
        self.asleep.wait(self.host.random.choice((0.0, 0.0, 0.5, SLOWEST - 0.5)))
        self.witness.saw_again(self.host, request, self.objects.get(request))
        done = {DONE: annotations_of(found).get(WANTED)}
        patch = {"metadata": {"resourceVersion": meta(found).resource_version, "annotations": done}}
        self.client.patch(self.kind, request, patch)
        return Result()


def program(network: Network, host: SimulatedHost, by: RingBy, witness: Witness) -> tuple[Manager, Ring, Objects]:
    """Return the manager of a replica, its ring, and its cache: by uid, of the objects of its slots alone."""
    manager = Manager(host, NetworkTransport(network, host), patience=_PATIENCE, grace=SLOWEST + 2.0)
    ring = manager.ring(CONFIG.name, by, **_options(host))
    kind = WISHES[by].kind
    if by is RingBy.UID:
        ring.divide(kind)
    objects = manager.lister(kind, dict[str, Any])
    fulfil = ring.shared(Fulfil(kind, objects, manager.client, witness, host, Stop(host, "asleep")))
    controller = Controller("work", fulfil, workers=2, limiter=ItemExponential(cap=4.0), reconcile_timeout=SLOWEST)
    manager.add(controller.watch(kind).receive(ring.requests(objects)))
    return manager, ring, objects


def _options(host: SimulatedHost) -> RingOptions:
    times = RingOptions(
        lease_duration=CONFIG.lease_duration, renew_deadline=CONFIG.renew_deadline, retry_period=CONFIG.retry_period
    )
    return {**times, "identity": host.name.replace("#", "-")}


class Wisher:
    """A user that raises the number `WANTED` of objects, deletes objects and creates them again.

    One in five deletes the published assignment now and then, too.
    """

    def __init__(self, host: Host, client: Client, wishes: Wishes) -> None:
        self._host, self._client, self._wishes = host, client, wishes
        self._number = 0
        self._harm = host.random.choice((0.0, 0.0, 0.0, 0.0, 0.06))

    def run(self, stop: Stop) -> None:
        """Create the objects, then change one after the other until `stop` is set."""
        kind, keys = self._wishes.kind, self._wishes.keys
        for key in keys:
            self._create(key)
        while not stop.wait(0.2 + 1.4 * self._host.random.random()):
            key = self._host.random.choice(keys)
            try:
                if self._host.random.random() < self._harm:
                    self._client.delete(CONFIG_MAPS, ObjectKey(CONFIG.name, CONFIG.namespace))
                elif self._host.random.random() < 0.2:
                    self._client.delete(kind, key)
                    self._create(key)
                else:
                    self._number += 1
                    read = self._client.get(kind, key, dict[str, Any])
                    decided_on = {"resourceVersion": meta(read).resource_version}
                    change = {"metadata": {**decided_on, "annotations": {WANTED: str(self._number)}}}
                    self._client.patch(kind, key, change)
            except ControllerRuntimeError:  # a request was lost, or a creation before
                self._create(key)

    def _create(self, key: ObjectKey) -> None:
        self._number += 1
        place = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        with contextlib.suppress(ControllerRuntimeError):  # it exists, or the request was lost
            body = {"metadata": {**place, "annotations": {WANTED: str(self._number)}}}
            self._client.create(self._wishes.kind, body)
