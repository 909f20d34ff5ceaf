# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for what small operators lean on: the controllers of stateful sets and claims, and the kubelet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from apimachinery.host import Host
from apimachinery.stop import Stop, spawn
from controller_runtime import Client, ObjectKey
from controller_runtime.errors import AlreadyExists, Conflict, NotFound
from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS, Resource
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.storage import Cursor

Body = dict[str, Any]

PACE = 0.2
"""Seconds between two rounds: a pod that is being deleted is seen as such before it is gone."""

_KINDS: tuple[Resource[Any], ...] = (STATEFUL_SETS, PODS, PERSISTENT_VOLUME_CLAIMS)


class Workloads:
    """Runs the stand-ins while it is entered. A stateful set has one claim for each pod, called `data-<pod>`.

    Args:
        host: The server's host.
        server: The server.
        client: A client of it.

    Threads: one.
    """

    def __init__(self, host: Host, server: APIServer, client: Client) -> None:
        self._host = host
        self._storage = server.storage
        self._client = client
        self._stop = Stop(host, "workloads")
        # Guards `_changed`; a write notifies it.
        self._condition = host.condition("workloads")
        self._changed = False
        self._cursors: list[Cursor] = []

    def __enter__(self) -> Self:
        self._cursors = [self._storage.follow(str(kind), self._storage.version, self._wake) for kind in _KINDS]
        for cursor in self._cursors:
            cursor.take(1)
        self._thread = spawn(self._host, self._stop, "workloads", self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._wake()
        self._thread.join_until(None)

    def _wake(self) -> None:
        with self._condition:
            self._changed = True
            self._condition.notify_all()

    def _run(self) -> None:
        while not self._stop.is_set():
            with self._condition:
                while not self._changed and not self._stop.is_set():
                    self._condition.wait_until(None)
                self._changed = False
            self._stop.wait(PACE)
            for cursor in self._cursors:
                while (batch := cursor.take(64)) is not None and batch.changes:
                    pass
            self._round()

    def _round(self) -> None:
        sets, pods, claims = (
            {obj["metadata"]["name"]: obj for obj in (item.decode() for item in self._storage.read(str(kind)).items)}
            for kind in _KINDS
        )
        for name, pod in pods.items():
            if "deletionTimestamp" in pod["metadata"]:
                self._write(lambda name=name: self._client.delete(PODS, _key(name), grace_period_seconds=0))
            elif not _is_wanted(pod, sets):
                self._write(lambda name=name: self._client.delete(PODS, _key(name)))
        for name in [*claims]:
            if not self._is_kept(name, sets):
                self._write(lambda name=name: self._client.delete(_CLAIMS, _key(name)))
        for owner in sets.values():
            for number in range(owner["spec"]["replicas"]):
                self._bring_about(owner, f"{owner['metadata']['name']}-{number}", pods, claims)
        for name, claim in claims.items():
            if "deletionTimestamp" in claim["metadata"] and name.removeprefix("data-") not in pods:
                change = {"metadata": {"finalizers": None}}
                self._write(lambda name=name, change=change: self._client.patch(_CLAIMS, _key(name), change))

    def _is_kept(self, claim: str, sets: dict[str, Body]) -> bool:
        name, _, number = claim.removeprefix("data-").rpartition("-")
        owner = sets.get(name)
        return owner is None or _retains(owner) or int(number) < owner["spec"]["replicas"]

    def _bring_about(self, owner: Body, name: str, pods: dict[str, Body], claims: dict[str, Body]) -> None:
        template = owner["spec"]["template"]
        labels = template["metadata"]["labels"]
        reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner["metadata"]["name"]}
        reference["uid"] = owner["metadata"]["uid"]
        if f"data-{name}" not in claims:
            claim = a_claim(f"data-{name}", template["metadata"]["annotations"]["storage"], labels)
            if not _retains(owner):
                claim["metadata"]["ownerReferences"] = [reference]
            self._write(lambda: self._client.create(_CLAIMS, claim))
            bound = {"status": {"phase": "Bound"}}
            self._write(
                lambda: self._client.patch(_CLAIMS, _key(claim["metadata"]["name"]), bound, subresource="status")
            )
        if name not in pods:
            metadata = {
                "name": name,
                "namespace": "default",
                "labels": labels,
                "annotations": template["metadata"].get("annotations", {}),
                "ownerReferences": [{**reference, "controller": True}],
            }
            spec = {**template["spec"], "nodeName": "node"}
            self._write(lambda: self._client.create(PODS, {"metadata": metadata, "spec": spec}))

    def _write(self, write: Callable[[], object]) -> None:
        with contextlib.suppress(NotFound, AlreadyExists, Conflict):
            write()


_CLAIMS = PERSISTENT_VOLUME_CLAIMS


def a_claim(name: str, storage: str, labels: dict[str, str]) -> Body:
    """Return a claim of a volume."""
    return {
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}},
    }


def a_set(replicas: int, *, storage: str = "1Gi", retain: bool = False, **labels: str) -> Body:
    """Return a stateful set without metadata, whose pods and claims have these labels.

    Args:
        replicas: The number of pods.
        storage: The size of each claim.
        retain: Whether the claims stay when their pods go for good.
        **labels: The labels.
    """
    when = "Retain" if retain else "Delete"
    return {
        "spec": {
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": when, "whenScaled": when},
            "replicas": replicas,
            "serviceName": "none",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"storage": storage}},
                "spec": {"containers": [{"name": "main", "image": "example.com/image"}]},
            },
        }
    }


def a_server(**environment: str) -> Body:
    """Return a pod without metadata, on a node, with these variables."""
    variables = [{"name": name, "value": value} for name, value in environment.items()]
    container = {"name": "main", "image": "example.com/image", "env": variables}
    return {"spec": {"containers": [container], "nodeName": "node"}}


def _retains(owner: Body) -> bool:
    return bool(owner["spec"]["persistentVolumeClaimRetentionPolicy"]["whenScaled"] == "Retain")


def _key(name: str) -> ObjectKey:
    return ObjectKey(name, "default")


def _is_wanted(pod: Body, sets: dict[str, Body]) -> bool:
    owners = [each for each in pod["metadata"].get("ownerReferences", ()) if each["kind"] == "StatefulSet"]
    if not owners:
        return True
    owner = sets.get(owners[0]["name"])
    number = int(pod["metadata"]["name"].rpartition("-")[2])
    return owner is not None and owner["metadata"]["uid"] == owners[0]["uid"] and number < owner["spec"]["replicas"]
