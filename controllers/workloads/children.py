# SPDX-License-Identifier: Apache-2.0
"""The objects that a workload controls: found, adopted, released, created and deleted.

An object is a child if its controlling owner is the workload. An orphan that the selector matches is adopted; a child
that it matches no longer is released. Both are patches that name the uid of the object, so that neither changes a
later object of the same name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from apimachinery.errors import NotFound, StaleCache
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, labels_of
from apimachinery.selectors import LabelSelector
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.references import controller_of, set_controller
from controller_runtime.api.resources import Resource
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.own_writes import OwnWrites
from controller_runtime.cache.store import Delta
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.attempts import current_attempt
from controller_runtime.manager.manager import Manager

INDEX = "workloads/owner"
"""The index of the children: by the uid of the controlling owner, or by `orphans/NAMESPACE`."""


class Owner(Protocol):
    """A workload, which owns other objects."""

    @property
    def metadata(self) -> ObjectMeta:
        """The metadata of the workload."""
        ...


class Child(Protocol):
    """An object that a workload may control."""

    metadata: ObjectMeta


C = TypeVar("C", bound=Child)


def key_of(obj: Owner | Child) -> ObjectKey:
    """Return the name and namespace of an object."""
    return ObjectKey(obj.metadata.name, obj.metadata.namespace)


def _owners(cached: Cached) -> list[str]:
    owner = controller_of(cached)
    return [owner.uid if owner is not None else f"orphans/{cached.namespace}"]


def add_owner_index(manager: Manager, resource: Resource[Any]) -> None:
    """Index a collection by the owners of its objects (`INDEX`), unless another controller has done so."""
    with contextlib.suppress(ValueError):
        manager.informer(resource).add_index(INDEX, _owners)


class Children(Generic[C]):
    """Finds, adopts, releases, creates and deletes the objects of one kind that workloads of another kind control.

    Args:
        manager: The manager, whose client and caches are used.
        owner: The collection of the workloads.
        resource: The collection of the children.
        view: The class into which children are decoded.
        selectors: Returns the key and selector of each workload in a namespace, to find workloads that may adopt an
            orphan.

    Threads: any; one reconcile of a workload at a time.
    """

    def __init__(
        self,
        manager: Manager,
        owner: Resource[Any],
        resource: Resource[Any],
        view: type[C],
        selectors: Callable[[str], Iterable[tuple[ObjectKey, LabelSelector]]],
    ) -> None:
        self._client = manager.client
        self._owner = owner
        self._resource = resource
        self._selectors = selectors
        add_owner_index(manager, resource)
        self._lister: Lister[C] = manager.lister(resource, view)
        self._decode = decoder_for(view, resource)
        self._host = manager.host
        self._name = f"{resource.plural} of {owner.plural}"
        self._own_writes = OwnWrites(manager.host, self._name)
        # Guards the uids of children that were deleted here and that the cache may still show as they were.
        self._lock = manager.host.lock("workloads/children")
        self._deleted: set[str] = set()

    def requests(self, delta: Delta) -> Iterable[Request]:
        """Return the workloads to reconcile after a change of a child: its owner, or those that might adopt it."""
        if delta.new is None and delta.old is not None:
            with self._lock:
                self._deleted.discard(delta.old.uid)
        found: dict[Request, None] = {}
        for cached in (delta.old, delta.new):
            if cached is None:
                continue
            owner = controller_of(cached)
            if owner is None:
                labels = labels_of(cached)
                found |= {key: None for key, wanted in self._selectors(cached.namespace) if wanted.matches(labels)}
            elif owner.kind == self._owner.kind and owner.api_version == self._owner.api_version:
                found[ObjectKey(owner.name, cached.namespace)] = None
        return found

    def forget(self, owner: ObjectKey) -> None:
        """Forget the writes for a workload that is gone."""
        self._own_writes.forget(owner)

    def is_behind(self, owner: ObjectKey) -> bool:
        """Return whether the caches do not show an earlier write for a workload yet.

        If the workload's status is used, call this before reading the workload, because it could otherwise be older
        than its children. The awaited change causes another reconcile of the workload.
        """
        try:
            self._own_writes.check(owner)
        except StaleCache:
            return True
        return False

    def claim(self, owner: Owner, selector: LabelSelector | None) -> list[C] | None:
        """Adopt and release children of a workload by its selector, and return its children, oldest first.

        Without a selector nothing is adopted or released: the children are those that the workload made. A child that
        was deleted here is returned as terminating, even if the cache does not show that yet.

        Returns:
            The children; None while the cache does not show an earlier write for this workload. The awaited change
            causes another reconcile.
        """
        if self.is_behind(key_of(owner)):
            return None
        uid = owner.metadata.uid
        kept: list[C] = []
        for child in self._lister.by_index(INDEX, uid):
            if selector is None or selector.matches(child.metadata.labels or {}):
                kept.append(child)
            elif owner.metadata.deletion_timestamp is None:
                self._patch(owner, child, {"$patch": "delete", "uid": uid})
        if owner.metadata.deletion_timestamp is None and selector is not None:
            for child in self._lister.by_index(INDEX, f"orphans/{owner.metadata.namespace}"):
                if child.metadata.deletion_timestamp is None and selector.matches(child.metadata.labels or {}):
                    self._patch(owner, child, self._reference(owner))
                    kept.append(child)
        gone = self._gone(owner, {child.metadata.uid for child in kept})
        for child in kept:
            if child.metadata.uid in gone and child.metadata.deletion_timestamp is None:
                child.metadata = msgspec.structs.replace(child.metadata, deletion_timestamp=self._host.now())
        return sorted(kept, key=lambda child: (str(child.metadata.creation_timestamp), child.metadata.name))

    def _gone(self, owner: Owner, uids: set[str]) -> set[str]:
        """Return those of some children that were deleted here; a replayed reconcile restores them."""
        with self._lock:
            gone = self._deleted & uids
        if (attempt := current_attempt()) is not None:
            attempt.state(f"deleted {self._name} {key_of(owner)}", lambda: sorted(gone), gone.update)
        return gone

    def create(self, owner: Owner, body: dict[str, Any]) -> Cached:
        """Create a child in the owner's namespace, with a controller reference to the owner; return it as stored."""
        body.setdefault("metadata", {})["namespace"] = owner.metadata.namespace
        set_controller(body, owner, self._owner)
        made = self._client.create(self._resource, body)
        self._wrote(owner, made)
        return made

    def read(self, made: Cached) -> C:
        """Return an object in an answer of the server, decoded as a child."""
        return self._decode(made.raw)

    def delete(self, owner: Owner, child: C) -> bool:
        """Delete a child with its dependents; return False if it was gone already."""
        try:
            self._client.delete(self._resource, key_of(child), uid=child.metadata.uid, propagation_policy="Background")
        except NotFound:
            return False
        with self._lock:
            self._deleted.add(child.metadata.uid)
        return True

    def patch(self, owner: Owner, child: C, patch: dict[str, Any], *, subresource: str = "") -> Cached:
        """Change a child by a merge patch that requires its uid, and return it as stored."""
        metadata = {**patch.get("metadata", {}), "uid": child.metadata.uid}
        made = self._client.patch(
            self._resource, key_of(child), {**patch, "metadata": metadata}, subresource=subresource
        )
        self._wrote(owner, made)
        return made

    def wait_for(self, owner: Owner, lister: Lister[Any], made: Cached) -> None:
        """Let `claim` return None until `lister` shows `made`, a write to the workload itself."""
        self._own_writes.wrote(key_of(owner), owner.metadata.uid, lister, made.resource_version)

    def _reference(self, owner: Owner) -> dict[str, Any]:
        body: dict[str, Any] = {"metadata": {"namespace": owner.metadata.namespace}}
        set_controller(body, owner, self._owner)
        reference: dict[str, Any] = body["metadata"]["ownerReferences"][0]
        return reference

    def _patch(self, owner: Owner, child: C, reference: dict[str, Any]) -> None:
        patch = {"metadata": {"uid": child.metadata.uid, "ownerReferences": [reference]}}
        with contextlib.suppress(NotFound):
            self._wrote(owner, self._client.patch(self._resource, key_of(child), patch, type=PatchType.STRATEGIC))

    def _wrote(self, owner: Owner, made: Cached) -> None:
        self._own_writes.wrote(key_of(owner), owner.metadata.uid, self._lister, made.resource_version)
