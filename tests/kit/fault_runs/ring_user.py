# SPDX-License-Identifier: Apache-2.0
"""The user of a simulated ring, who writes wishes into objects, and the objects."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from apimachinery.errors import ControllerRuntimeError
from apimachinery.host import Host
from apimachinery.objects import ObjectKey, meta
from apimachinery.stop import Stop
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import NODES, Resource
from controller_runtime.client.client import Client
from controller_runtime.ring.by import RingBy
from kit.fault_runs.work import WANTED

NODE_KEYS = tuple(ObjectKey(f"node-{number}") for number in range(8))
"""The nodes: in a ring of few members two of them often change hands together."""
TENANT_KEYS = tuple(
    ObjectKey(name, tenant)
    for tenant in ("default", "kube-system", "kube-public", "kube-node-lease")
    for name in ("first", "second")
)
"""Two objects in each of the namespaces that every server has: those of one namespace share a slot."""
OWNER_KEYS = NODE_KEYS[:4]
"""The owners in a ring by owner; the last one controls nothing at first."""
STAYING = tuple(ObjectKey(f"of-{key.name}", "default") for key in OWNER_KEYS[:3])
"""Objects that keep their first controller, even if it is deleted; they are created again with it."""
MOVING = tuple(ObjectKey(f"moving-{number}", "default") for number in range(3))
"""Objects that are adopted by other owners, and released."""

Wishes = Mapping[Resource[Any], tuple[ObjectKey, ...]]
"""The objects that the wishes are written into: their keys by kind. No key is of two kinds."""

WISHES: Mapping[RingBy, Wishes] = {
    RingBy.NAMESPACE: {CONFIG_MAPS: TENANT_KEYS},
    RingBy.NAME: {NODES: NODE_KEYS},
    RingBy.UID: {NODES: NODE_KEYS},
    RingBy.OWNER: {NODES: OWNER_KEYS, CONFIG_MAPS: STAYING + MOVING},
}
"""The objects, for each kind of ring."""


class Wisher:
    """A user that raises the number `WANTED` of objects, deletes objects and creates them again.

    In a ring by owner objects get other controllers, too, and owners are deleted while they control some. One user in
    five deletes the published assignment now and then.

    Args:
        host: Its randomness draws what is done.
        client: Does it.
        wishes: The objects.
        ring: The object of the published assignment.
    """

    def __init__(self, host: Host, client: Client, wishes: Wishes, ring: ObjectKey) -> None:
        self._host, self._client, self._ring = host, client, ring
        self._objects = [(kind, key) for kind, keys in wishes.items() for key in keys]
        self._has_owners = len(wishes) > 1
        self._controllers: dict[ObjectKey, list[dict[str, Any]]] = {}  # of those that stay, once they are known
        self._number = 0
        self._harm = host.random.choice((0.0, 0.0, 0.0, 0.0, 0.06))

    def run(self, stop: Stop) -> None:
        """Create the objects, then change one after the other until `stop` is set."""
        for kind, key in self._objects:
            self._create(kind, key)
        while not stop.wait(0.2 + 1.4 * self._host.random.random()):
            kind, key = self._host.random.choice(self._objects)
            try:
                self._change(kind, key)
            except ControllerRuntimeError:  # a request was lost, or a creation before
                self._create(kind, key)

    def _change(self, kind: Resource[Any], key: ObjectKey) -> None:
        if self._host.random.random() < self._harm:
            self._client.delete(CONFIG_MAPS, self._ring)
        elif self._host.random.random() < 0.2:
            self._client.delete(kind, key)
            self._create(kind, key)
        else:
            self._number += 1
            read = self._client.get(kind, key, dict[str, Any])
            change: dict[str, Any] = {"resourceVersion": meta(read).resource_version}
            if key not in MOVING or self._host.random.random() < 0.5:
                change["annotations"] = {WANTED: str(self._number)}
            if key in MOVING and self._host.random.random() < 0.5:  # with a wish or without
                change["ownerReferences"] = self._references(key)
            self._client.patch(kind, key, {"metadata": change})

    def _create(self, kind: Resource[Any], key: ObjectKey) -> None:
        self._number += 1
        place: dict[str, Any] = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        with contextlib.suppress(ControllerRuntimeError):  # it exists, or a request was lost
            if self._has_owners and key.namespace:
                place["ownerReferences"] = self._references(key)
            self._client.create(kind, {"metadata": {**place, "annotations": {WANTED: str(self._number)}}})

    def _references(self, key: ObjectKey) -> list[dict[str, Any]]:
        """Return the owners of an object, of which none or one controls it; the server is asked who they are."""
        if key not in MOVING:
            if key not in self._controllers:
                self._controllers[key] = self._owned_by(OWNER_KEYS[STAYING.index(key)])
            return self._controllers[key]
        drawn = self._host.random.choice((None, *OWNER_KEYS))
        return [] if drawn is None else self._owned_by(drawn)

    def _owned_by(self, owner: ObjectKey) -> list[dict[str, Any]]:
        """Return references to two owners: the one given controls, and the other one is named first."""
        other = OWNER_KEYS[OWNER_KEYS.index(owner) - 1]
        found = [(each, meta(self._client.get(NODES, each, dict[str, Any])).uid) for each in (other, owner)]
        references = [{"apiVersion": "v1", "kind": "Node", "name": each.name, "uid": uid} for each, uid in found]
        return [references[0], {**references[1], "controller": True}]
