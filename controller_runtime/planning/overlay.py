# SPDX-License-Identifier: Apache-2.0
"""The plan of one pass so far: the state of each object before its first write and after its last one.

The server forgets each dry run. So later reads and writes of the same pass find here what earlier ones did.
"""

from __future__ import annotations

import contextvars
import enum
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import attrs

from apimachinery.host import Host
from apimachinery.objects import ObjectKey, PlainKey
from controller_runtime.core.resource_paths import ResourcePath

Object: TypeAlias = "Mapping[str, Any]"

PLANNED_VERSION = "1"
"""The resourceVersion of an object that was only planned, to which the server gave none. It is older than any other, so
that no cache ever waits for it."""


class BlindSpot(enum.Enum):
    """A class of effects that a plan cannot predict."""

    CHILDREN = "children"
    """Controllers reconcile the object only once it exists."""
    FOLLOW_UPS = "follow-ups"
    """Controllers reconcile the object, or one that it leads to, again after the write."""
    GENERATED_NAME = "generated-name"
    """The server makes the name up, another one each time."""
    COLLECTION = "collection"
    """The garbage collector deletes what the object owned; or the namespace, what was in it."""
    WEBHOOK = "webhook"
    """A webhook with side effects refuses dry runs."""
    UNCHECKED = "unchecked"
    """The server could not check a write, because it builds on one that was only planned."""


class Work(NamedTuple):
    """A reconcile of the plan; or, without a request, a controller's mappers, the setup function, or other threads.

    Attributes:
        controller: The controller's name; for the setup function and other threads a text in its place.
        request: The key that is reconciled; None for other work.
    """

    controller: str
    request: ObjectKey | None = None

    def __str__(self) -> str:
        return self.controller if self.request is None else f"{self.controller} {self.request}"


current_work: contextvars.ContextVar[Work | None] = contextvars.ContextVar("work of a plan", default=None)
"""The reconcile that this thread or coroutine runs."""


@attrs.frozen
class PlannedObject:
    """One object that was written during the plan.

    Attributes:
        target: The path of the object.
        live: The state at the server, before the first write; None if the object did not exist, empty if it may not be
            read.
        state: The planned state after the last write; None if the object was deleted.
        has_status: Whether the plan wrote the status by its subresource, so that other writes do not change it.
        applied_by: The field manager that created the object, if its applies were the only writes; otherwise empty.
        generate_name: The prefix of a name that the server generated; empty if the writer named the object.
        blind: The effects of the writes that the plan could not predict, each with a text for people.
        works: The reconciles that wrote the object, in order.
    """

    target: ResourcePath
    live: Object | None
    state: Object | None
    has_status: bool = False
    applied_by: str = ""
    generate_name: str = ""
    blind: tuple[tuple[BlindSpot, str], ...] = ()
    works: tuple[Work, ...] = ()

    @property
    def is_only_planned(self) -> bool:
        """Whether the object does not exist at the server."""
        return self.live is None

    def with_blind(self, spot: BlindSpot, text: str) -> PlannedObject:
        """Return a copy with one more effect that could not be predicted."""
        found = (spot, text)
        return self if found in self.blind else attrs.evolve(self, blind=(*self.blind, found))

    def by(self, work: Work | None) -> PlannedObject:
        """Return a copy that `work` has written, too."""
        return self if work is None or work in self.works else attrs.evolve(self, works=(*self.works, work))


class Overlay:
    """The planned states of objects, by their paths.

    Args:
        host: Creates the lock.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        # Guards the two fields below.
        self._lock = host.lock("overlay of a plan")
        self._planned: dict[ResourcePath, PlannedObject] = {}
        # The changes of each collection, in order, for readers that follow them.
        self._changes: dict[ResourcePath, list[PlainKey]] = {}

    def get(self, target: ResourcePath) -> PlannedObject | None:
        """Return what is planned for an object; None if the plan did not write it."""
        with self._lock:
            return self._planned.get(_place(target))

    def put(self, before: PlannedObject | None, after: PlannedObject) -> bool:
        """Replace the plan `before` of an object by `after`; return False, without an effect, if `before` is out of
        date.
        """
        place = _place(after.target)
        with self._lock:
            if self._planned.get(place) is not before:
                return False
            self._planned[place] = after
            self._changes.setdefault(_collection(place), []).append((place.name, place.namespace))
            return True

    def since(self, collection: ResourcePath, position: int) -> tuple[list[PlannedObject], int]:
        """Return the plans of a collection's objects that changed since `position`, and the new position.

        Args:
            collection: The collection; only group, version and plural are used.
            position: The position that the last call returned; 0 at first.
        """
        known = _collection(collection)
        with self._lock:
            changes = self._changes.get(known) or []
            keys = dict.fromkeys(changes[position:])
            places = [known._replace(name=name, namespace=namespace) for name, namespace in keys]
            return [self._planned[place] for place in places], len(changes)

    def all(self) -> list[PlannedObject]:
        """Return what is planned for each written object, in the order of their first writes."""
        with self._lock:
            return [*self._planned.values()]


def _place(target: ResourcePath) -> ResourcePath:
    return target._replace(subresource="") if target.subresource else target


def _collection(target: ResourcePath) -> ResourcePath:
    return target._replace(namespace="", name="", subresource="")
