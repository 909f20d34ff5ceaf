# SPDX-License-Identifier: Apache-2.0
"""Deletes the objects that a primary owns and no longer desires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import msgspec

from apimachinery.errors import NotFound
from apimachinery.log import get_logger
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, cached_from_bytes
from controller_runtime.api.references import controller_of
from controller_runtime.api.resources import Resource
from controller_runtime.cache.observed import ObservedReads
from controller_runtime.client.client import Client
from controller_runtime.dependents.memory import PrimaryMemory
from controller_runtime.dependents.plan import DependentState, may_delete, unwanted

log = get_logger(__name__)


def controller_uid(cached: Cached) -> tuple[str, ...]:
    """Return the uid of the object's controller in a tuple, empty without a controller. Used as an index function."""
    controller = controller_of(cached)
    return () if controller is None else (controller.uid,)


@attrs.frozen
class Pruner:
    """Deletes objects that are no longer desired, after checking with the server, since caches may be out of date.

    It reads the primary, to see whether it is the one from which the desired objects were computed, and the object, to
    see whether the primary owns it. The deletion has the uid and version of that object as preconditions.

    Attributes:
        client: Reads and deletes objects.
        primary: The resource of the primaries.
        field_manager: The name under which the objects were applied.

    Threads: any; one primary on one thread at a time.
    """

    client: Client
    primary: Resource[Any]
    field_manager: str

    @property
    def index(self) -> str:
        """The name of the index by `controller_uid` that each store has."""
        return f"owned by {self.field_manager}"

    def prune(
        self,
        owner: ObjectMeta,
        stores: Mapping[Resource[Any], ObservedReads],
        states: Sequence[DependentState],
        memory: PrimaryMemory,
    ) -> None:
        """Delete the objects that are no longer desired, in the reverse order of applying.

        Args:
            owner: The metadata of the primary from which the states were computed.
            stores: The caches of the owned kinds, in the order in which they are applied.
            states: The states of the objects that are desired.
            memory: The memory of the primary.

        Raises:
            Conflict: An object has changed after it was read.
        """
        is_current: bool | None = None
        shown: set[str] = set()
        for resource, store in reversed([*stores.items()]):
            owned = store.by_index(self.index, owner.uid)
            shown |= {each.uid for each in owned}
            for cached in reversed(unwanted(owned, resource, states, memory)):
                if is_current is None:
                    is_current = self._is_current(owner)
                if not is_current:
                    return  # its change is on the way, and causes the next reconcile
                self._delete(resource, cached, owner, memory)
        memory.deleted &= shown
        memory.not_ours &= shown

    def _is_current(self, owner: ObjectMeta) -> bool:
        try:
            found = self.client.get(self.primary.only_metadata(), ObjectKey(owner.name, owner.namespace)).metadata
        except NotFound:
            return False
        return (found.uid, found.resource_version) == (owner.uid, owner.resource_version)

    def _delete(self, resource: Resource[Any], cached: Cached, owner: ObjectMeta, memory: PrimaryMemory) -> None:
        try:
            judged = cached_from_bytes(msgspec.json.encode(self.client.get(resource, cached.key, dict)))
            if judged.uid != cached.uid or not may_delete(judged, uid=owner.uid, field_manager=self.field_manager):
                memory.not_ours.add(cached.uid)
                return
            version = judged.resource_version
            self.client.delete(
                resource, cached.key, uid=judged.uid, resource_version=version, propagation_policy="Background"
            )
        except NotFound:
            pass  # it is gone already
        memory.deleted.add(cached.uid)
        log.info("object deleted: it is no longer desired", object=f"{resource.kind} {cached.key}")
