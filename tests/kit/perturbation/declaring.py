# SPDX-License-Identifier: Apache-2.0
"""The parts of small operators with bugs that sequences of states find: reads, writes, bodies, a story."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

from controller_runtime import (
    Client,
    Controller,
    Manager,
    ObjectKey,
    ObjectMeta,
    Reconciler,
    Request,
    Result,
    enqueue_owner,
    set_controller,
)
from controller_runtime.crd import CustomResource
from controller_runtime.errors import NotFound
from controller_runtime.resources import Resource
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.perturbation.sequence_explore import Explored, try_sequences

Body = dict[str, Any]
Kind = Resource[Any]

NAME = "db"
"""The name of every declared object, and of the objects that belong to it, in the namespace `default`."""


class Operator(Reconciler):
    """A reconciler of one declared class, with short words for reads and writes.

    Attributes:
        declared: The class.
        kinds: The kinds of the objects that it brings about.
    """

    declared: ClassVar[type[CustomResource]]
    kinds: ClassVar[tuple[Kind, ...]]

    def __init__(self, manager: Manager) -> None:
        self.client: Client = manager.client
        self._objects = manager.lister(self.declared)
        self._views = {kind: manager.lister(kind, dict) for kind in self.kinds}

    def reconcile(self, request: Request) -> Result:
        """Bring one declared object about."""
        obj = self._objects.get(request)
        if obj is not None:
            self.bring(obj, obj.spec)  # type: ignore[attr-defined]
        return Result()

    def bring(self, obj: Any, spec: Any) -> None:
        """Bring about what `spec` declares."""
        raise NotImplementedError

    def see(self, kind: Kind, name: str = NAME) -> Body | None:
        """Return an object as the cache has it."""
        found: Body | None = self._views[kind].get(ObjectKey(name, "default"))
        return found

    def all(self, kind: Kind) -> list[Body]:
        """Return all objects of a kind that the cache has."""
        found: list[Body] = self._views[kind].list()
        return found

    def apply(self, kind: Kind, body: Body) -> None:
        """Have an object exactly as it is wanted: what is not in `body` any more is removed."""
        self.client.apply(kind, body, field_manager="operator", force=True)

    def update(self, kind: Kind, have: Body, **parts: Any) -> None:
        """Replace parts of an object, if they differ."""
        changed = {**have, **parts}
        if changed != have:
            self.client.update(kind, changed)

    def drop(self, kind: Kind, name: str = NAME) -> None:
        """Delete an object that may be gone."""
        with suppress(NotFound):
            self.client.delete(kind, ObjectKey(name, "default"))


class Bug(NamedTuple):
    """One bug of an operator.

    Attributes:
        source: Its report.
        shown: The text by which a finding shows it.
        buggy: The operator with it.
        mended: The operator without it.
        first: The spec that the story declares.
        beside: Adds other controllers to the manager.
    """

    source: str
    shown: str
    buggy: type[Operator]
    mended: type[Operator]
    first: Any
    beside: Callable[[Manager], None] = lambda _: None

    def explore(self, operator: type[Operator], sequences: int, seed: int = 0) -> Explored:
        """Try sequences of states with one of the operators."""

        def setup(manager: Manager) -> None:
            manager.install(operator.declared)
            controller = Controller("operator", operator(manager)).watch(operator.declared)
            for kind in operator.kinds:
                controller.watch(kind, map=enqueue_owner(operator.declared))
            manager.add(controller)
            self.beside(manager)

        def story(cluster: EmbeddedCluster, simulation: Simulation) -> None:
            metadata = ObjectMeta(name=NAME, namespace="default")
            cluster.user.create(operator.declared(metadata=metadata, spec=self.first))  # type: ignore[call-arg]
            simulation.settle()

        return try_sequences(setup, story, sequences=sequences, seed=seed)


def owned(obj: CustomResource, body: Body, name: str = NAME, **metadata: Any) -> Body:
    """Return a body of this name that `obj` owns."""
    body = {**body, "metadata": {"name": name, "namespace": "default", **metadata}}
    set_controller(body, obj)
    return body


def workload(obj: CustomResource, *, annotations: Mapping[str, str] | None = None, **pod: Any) -> Body:
    """Return a stateful set or a deployment with these annotations and fields of its pods."""
    app = {"app": NAME}
    metadata = {"labels": app, **({"annotations": dict(annotations)} if annotations else {})}
    template = {"metadata": metadata, "spec": {"containers": [{"name": "db", "image": "example.com/db"}], **pod}}
    return owned(obj, {"spec": {"replicas": 1, "selector": {"matchLabels": app}, "template": template}})


def service(obj: CustomResource, ports: Mapping[str, int], **metadata: Any) -> Body:
    """Return a service with these ports."""
    listed = [{"name": name, "port": port} for name, port in ports.items()]
    return owned(obj, {"spec": {"selector": {"app": NAME}, "ports": listed}}, **metadata)
