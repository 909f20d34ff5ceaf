# SPDX-License-Identifier: Apache-2.0
"""The reading face of a store: typed, without writing methods, every object the reader's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from controller_runtime.api.codec import decoder_for
from controller_runtime.api.objects import AnyObject, Cached, ObjectKey, labels_of, meta
from controller_runtime.api.resources import Resource
from controller_runtime.api.selectors import LabelSelector
from controller_runtime.cache.store import Store
from controller_runtime.core.errors import DecodeError
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

T = TypeVar("T")


class Lister(Generic[T]):
    """Reads one collection from its store, as objects of one class.

    Objects are decoded on each read and belong to the reader, who may change them: the
    store does not notice. Reads never leave the process and may be a little behind the
    server; `behind` and `wait_for` say by how much it matters.

    Threads: any, for every method.

    Args:
        store: Where to read.
        resource: The collection in the store.
        view: The class to read as; None is the resource's own.

    Raises:
        ValueError: `view` has fields that objects of this kind cannot have.
    """

    def __init__(self, store: Store, resource: Resource[Any], view: type[T] | None = None) -> None:
        self._store = store
        self._resource = resource
        self._decode = decoder_for(view, resource)

    @property
    def version(self) -> str:
        """The version that the store has reached; empty before the first list."""
        return self._store.version

    @property
    def resource(self) -> Resource[Any]:
        """What it reads."""
        return self._resource

    @property
    def resets(self) -> int:
        """How often the server went back, so that versions from before mean nothing any more."""
        return self._store.resets

    def __len__(self) -> int:
        return len(self._store)

    def get(self, key: ObjectKey) -> T | None:
        """The object of that name; None if the store has none.

        Raises:
            DecodeError: It cannot be read as this class.
        """
        cached = self._store.get(key)
        return None if cached is None else self._decode(cached.raw)

    def keys(self) -> list[ObjectKey]:
        """The names of all objects; nothing is decoded."""
        return [cached.key for cached in self._store.list()]

    def by_index(self, name: str, value: str) -> list[T]:
        """The objects that have `value` in the index `name`, read like those of `list`.

        Raises:
            KeyError: There is no such index.
        """
        return self._decoded(self._store.by_index(name, value))

    def behind(self, version: str) -> bool:
        """Whether the store has yet to reach `version`; cheap, for a reconciler that would rather requeue."""
        return self._store.behind(version)

    def wait_for(self, version: str, timeout: float) -> bool:
        """Wait until the store has reached `version`, such as a write returned; True if it has in `timeout` seconds."""
        return self._store.wait_for(version, timeout)

    def wait_for_deletion(self, obj: AnyObject, timeout: float) -> bool:
        """Wait until reads show that `obj`, as it was before, has been deleted; True if they do in `timeout` seconds.

        They do once it is gone, or another has taken its name; or it says that it is to go, where a
        finalizer or a grace period holds it.

        Raises:
            DecodeError: `obj` has no readable metadata.
        """
        return self._store.wait_for_deletion(meta(obj), timeout)

    def _decoded(self, found: Iterable[Cached]) -> list[T]:
        out = []
        for cached in found:
            try:
                out.append(self._decode(cached.raw))
            except DecodeError as error:
                log.warning("object left out of a list", resource=self._resource, error=error)
        return out

    def list(self, namespace: str = "", selector: str = "") -> list[T]:
        """The objects of a namespace (empty: of all) that a label selector matches (empty: all of them).

        One that cannot be read as this class is logged and left out, so that a single
        malformed object does not stop every controller that lists; `get` raises.

        Raises:
            ValueError: The selector is malformed.
        """
        labels = LabelSelector.parse(selector)
        return self._decoded(
            cached
            for cached in self._store.list()
            if (not namespace or cached.namespace == namespace)
            and (labels.is_everything or labels.matches(labels_of(cached)))
        )
