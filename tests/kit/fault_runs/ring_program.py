# SPDX-License-Identifier: Apache-2.0
"""The program whose replicas form the ring: the owner of each object fulfils the wishes of `ring_user` in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import attrs

from apimachinery.objects import ObjectKey, annotations_of, meta
from apimachinery.stop import Stop
from controller_runtime.api.resources import Resource
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.scope import CacheScope
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.backoff import Backoff
from controller_runtime.manager.manager import Manager
from controller_runtime.queue.rate_limiters import ItemExponential
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.config import RingConfig, RingOptions
from controller_runtime.ring.ring import Ring
from controller_runtime.ring.token import RingToken
from controller_runtime.testing.simulation import SimulatedHost
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from kit.fault_runs.body_reads import bodies_of
from kit.fault_runs.compressing import compress, is_chosen
from kit.fault_runs.costly_lister import CostlyLister
from kit.fault_runs.ring_user import Wishes
from kit.fault_runs.work import DONE, WANTED

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


Objects = Lister[dict[str, Any]]
"""Reads the objects of a kind from the cache of a replica."""
Caches = Mapping[str, Objects]
"""The caches of a replica by the plural of the kind."""


class Witness(Protocol):
    """Is told what reconciles see; called on their threads, and must not wait."""

    def saw(self, host: SimulatedHost, key: ObjectKey, found: Mapping[str, Any] | None, token: RingToken) -> None:
        """Take what a reconcile sees when it begins, and its fencing token."""

    def saw_again(
        self, host: SimulatedHost, key: ObjectKey, found: Mapping[str, Any] | None, tokens: tuple[RingToken, RingToken]
    ) -> None:
        """Take what a reconcile sees later of an object that it saw when it began, and its token then and now."""


@attrs.frozen
class Fulfil(Reconciler):
    """Copies the number `WANTED` of an object to `DONE`, over the version that was read, after a while.

    Attributes:
        kind: The kind of the objects.
        objects: Reads them from the cache.
        client: Writes the number.
        witness: Is told what the work sees.
        ring: Gives the fencing tokens.
        host: Its randomness draws how long the work takes.
        asleep: Waits for that long.
    """

    kind: Resource[Any]
    objects: Objects
    client: Client
    witness: Witness
    ring: Ring
    host: SimulatedHost
    asleep: Stop

    def reconcile(self, request: Request) -> Result:
        """Do the work of one object, if there is any."""
        token, found = self.ring.token(), self.objects.get(request)
        self.witness.saw(self.host, request, found, token)
        if found is None or annotations_of(found).get(WANTED) == annotations_of(found).get(DONE):
            return Result()
        self.asleep.wait(self.host.random.choice((0.0, 0.0, 0.5, SLOWEST - 0.5)))
        self.witness.saw_again(self.host, request, self.objects.get(request), (token, self.ring.token()))
        done = {DONE: annotations_of(found).get(WANTED)}
        patch = {"metadata": {"resourceVersion": meta(found).resource_version, "annotations": done}}
        self.client.patch(self.kind, request, patch)
        return Result()


class Health:
    """Lets a replica report for a while that it does not do its work.

    Args:
        host: The replica's.
        ring: Asks for the problem of its work.
    """

    def __init__(self, host: SimulatedHost, ring: Ring) -> None:
        self._host, self._ring, self._unwell_until = host, ring, 0.0
        self._own_problem, ring.problem = ring.problem, self._problem

    def be_unwell(self, seconds: float) -> None:
        """Report for `seconds` that the work is not done; the member looks at once when that begins and ends."""
        self._unwell_until = self._host.monotonic() + seconds
        self._ring.member.wake()
        Stop(self._host, "unwell").wait(seconds)
        self._ring.member.wake()

    def _problem(self) -> str:
        return "it is unwell" if self._host.monotonic() < self._unwell_until else self._own_problem()


def program(
    network: Network,
    host: SimulatedHost,
    by: RingBy,
    witness: Witness,
    options: RingOptions,
    *,
    wishes: Wishes,
    divided: bool,
    key_cost: float = 0.0,
) -> tuple[Manager, Ring, Caches]:
    """Return the manager of a replica, its ring, and its caches.

    Args:
        network: Carries its requests.
        host: The replica's.
        by: The kind of ring.
        witness: Is told what reconciles see.
        options: The options of the ring.
        wishes: The objects of the work.
        divided: Whether the caches have the objects of the replica's slots alone.
        key_cost: Seconds for each key that is read when slots come.
    """
    manager = Manager(host, NetworkTransport(network, host), patience=_PATIENCE, grace=SLOWEST + 2.0)
    scope = CacheScope(bodies=bodies_of(host.name))
    manager.scope_caches(CacheScope(compress=compress(is_chosen(host.name))), dict.fromkeys(wishes, scope))
    ring = manager.ring(CONFIG.name, by, **options)
    caches: dict[str, Objects] = {}
    for kind in wishes:
        if divided:
            ring.divide(kind)
        objects = caches[kind.plural] = manager.lister(kind, dict[str, Any])
        fulfil = ring.shared(Fulfil(kind, objects, manager.client, witness, ring, host, Stop(host, "asleep")), kind)
        name, limiter = f"work on {kind.plural}", ItemExponential(cap=4.0)
        controller = Controller(name, fulfil, workers=2, limiter=limiter, reconcile_timeout=SLOWEST)
        manager.add(controller.watch(kind).receive(ring.requests(CostlyLister(host, objects, key_cost))))
    return manager, ring, caches
