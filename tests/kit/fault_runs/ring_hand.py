# SPDX-License-Identifier: Apache-2.0
"""A person who changes a simulated ring's objects by hand, as with kubectl, or puts those of another program there."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping
from typing import Any

from apimachinery.errors import ControllerRuntimeError, NotFound
from apimachinery.objects import ObjectKey, annotations_of, meta
from apimachinery.stop import Stop
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import LEASES, Resource
from controller_runtime.client.client import Client
from controller_runtime.ring.records import CLAIM, RING_LABEL, Claim
from controller_runtime.testing.simulation import Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from kit.fault_runs.ring_foreign import FOREIGN, HAND
from kit.fault_runs.ring_program import CONFIG

_PAUSE = 0.5
"""Seconds between two tries."""
_TRIES = 5

_Object = dict[str, Any]


class Hand:
    """Changes objects of the ring, each on a thread of its own; a request may be lost, and then nothing is changed.

    Args:
        sim: The simulation.
        network: Carries the requests.
    """

    def __init__(self, sim: Simulation, network: Network) -> None:
        self._host, self._chance = sim.host(HAND), sim.chance(HAND)
        self._client = Client(self._host, NetworkTransport(network, self._host), request_timeout=2.0)

    def delete_lease(self, name: str) -> None:
        """Delete the lease of a member."""
        self._do(lambda: self._client.delete(LEASES, _place(name)))

    def unlabel_lease(self, name: str) -> None:
        """Take the ring's label off the lease of a member."""

        def unlabel() -> None:
            found = self._client.get(LEASES, _place(name), dict[str, Any])
            if FOREIGN not in annotations_of(found):
                patch = {"resourceVersion": meta(found).resource_version, "labels": {RING_LABEL: None}}
                self._client.patch(LEASES, _place(name), {"metadata": patch})

        self._do(unlabel)

    def return_lease(self, lease: Mapping[str, Any]) -> None:
        """Create a lease again as it was once, unless it is there."""
        kept = {key: lease["metadata"].get(key) for key in ("name", "namespace", "labels", "annotations")}
        self._do(lambda: self._client.create(LEASES, {**lease, "metadata": kept}))

    def put_foreign_lease(self, name: str, seconds: float) -> None:
        """Let a lease of another program have the name of a member's for `seconds`; it is written over that."""
        body = _foreign_lease(self._chance)
        self._do(lambda: self._put(LEASES, _place(name), body, seconds))

    def put_foreign_map(self, seconds: float) -> None:
        """Let a ConfigMap of another program have the name of the ring's for `seconds`; it is written over that."""
        body = _foreign_map(self._chance)
        self._do(lambda: self._put(CONFIG_MAPS, CONFIG.map_key, body, seconds))

    def _put(self, kind: Resource[Any], key: ObjectKey, body: _Object, seconds: float) -> None:
        """Write an object once, and delete it after `seconds`; also if it is stored only later."""
        asleep = Stop(self._host, "hand")
        for _ in range(_TRIES):
            with contextlib.suppress(ControllerRuntimeError):
                self._write(kind, key, body)
                break
            asleep.wait(_PAUSE)
        asleep.wait(seconds)
        while True:
            with contextlib.suppress(ControllerRuntimeError):
                found = self._client.get(kind, key, dict[str, Any])
                if FOREIGN in annotations_of(found):
                    self._client.delete(kind, key, uid=meta(found).uid)
            asleep.wait(2 * _PAUSE)

    def _write(self, kind: Resource[Any], key: ObjectKey, body: _Object) -> None:
        metadata = {**body["metadata"], "name": key.name, "namespace": key.namespace}
        try:
            found = self._client.get(kind, key, dict[str, Any])
        except NotFound:
            self._client.create(kind, {**body, "metadata": metadata})
            return
        if FOREIGN not in annotations_of(found):
            metadata |= {"uid": meta(found).uid, "resourceVersion": meta(found).resource_version}
            self._client.update(kind, {**body, "metadata": metadata})

    def _do(self, action: Callable[[], object]) -> None:
        def act() -> None:
            with contextlib.suppress(ControllerRuntimeError):
                action()

        self._host.spawn("hand", act)


def _place(name: str) -> ObjectKey:
    return ObjectKey(name, CONFIG.namespace)


def _foreign_lease(chance: random.Random) -> _Object:
    """Return a lease that is not a member's: without a claim, or with one for another ring."""
    spec = {"holderIdentity": "another", "leaseDurationSeconds": 15}
    if chance.random() < 0.5:
        return {"metadata": {"annotations": {FOREIGN: "yes"}}, "spec": spec}
    annotations = {FOREIGN: "yes", CLAIM: Claim(epoch=1).to_text()}
    return {"metadata": {"annotations": annotations, "labels": {RING_LABEL: "another"}}, "spec": spec}


def _foreign_map(chance: random.Random) -> _Object:
    """Return a ConfigMap that is not the ring's: with settings, with more than an assignment, or of another ring."""
    assignment = {"epoch": "7", "owners": "{}"}
    labels, data = chance.choice(
        (
            ({}, {"config.yaml": "color: blue"}),
            ({}, {**assignment, "config.yaml": "color: blue"}),
            ({RING_LABEL: "another"}, assignment),
        )
    )
    return {"metadata": {"annotations": {FOREIGN: "yes"}, "labels": labels}, "data": data}
