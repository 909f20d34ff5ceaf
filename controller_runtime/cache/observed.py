# SPDX-License-Identifier: Apache-2.0
"""The reads of a store by a reconcile that may be recorded, or replayed from a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from apimachinery.objects import Cached, ObjectKey, ObjectMeta
from controller_runtime.api.resources import Resource
from controller_runtime.cache.head import Head, all_whole, metadata_of, whole
from controller_runtime.cache.store import Store
from controller_runtime.cache.union import Readable
from controller_runtime.core.attempts import current_attempt, unobserved

T = TypeVar("T")


class ObservedReads:
    """Reads a store in code that may run in a reconcile; the running attempt, if any, records or replays each result.

    Args:
        resource: The resource of the objects.
        store: The store, or a `Union` of several.

    Threads: any.
    """

    __slots__ = ("_read", "_resource", "store")

    def __init__(self, resource: Resource[Any], store: Readable) -> None:
        self._resource = resource
        self.store = store
        self._read = store.get if type(store) is Store else self._unobserved  # its reads send no requests

    def get(self, key: ObjectKey) -> Cached | None:
        """Return the object of that key; None if there is none."""
        attempt = current_attempt()
        if attempt is None:
            found = self.store.get(key)
            return whole(found) if type(found) is Head else found  # a call less in most reads
        return attempt.get(self._resource, key, self._read)

    def _unobserved(self, key: ObjectKey) -> Cached | None:
        """Return the object of a key; its body is a part of this read, so a request for it is none of the attempt's."""
        found = self.store.get(key)
        if type(found) is not Head:
            return found
        with unobserved():
            return whole(found)

    def select(self, verb: str, what: str, read: Callable[[], Sequence[Cached]]) -> Sequence[Cached]:
        """Return the objects that `read` takes from the store.

        `verb` and `what` describe the selection in the record.
        """
        attempt = current_attempt()
        if attempt is None:
            return read()

        def unobserved_read() -> Sequence[Cached]:
            with unobserved():
                return read()

        return attempt.select(self._resource, verb, what, unobserved_read)

    def by_index(self, name: str, value: str) -> Sequence[Cached]:
        """Return the objects that have `value` in the index `name`."""
        return self.select("by_index", f"{name}={value}", lambda: all_whole(self.store.by_index(name, value)))

    def metadata_by_index(self, name: str, value: str) -> Sequence[Cached]:
        """Return the objects with `value` in the index `name`; of a `Head` only the metadata: nothing is fetched."""
        return self.select("by_index", f"{name}={value}", lambda: metadata_of(self.store.by_index(name, value)))

    @property
    def version(self) -> str:
        """The resourceVersion that the store has reached; empty before the first list."""
        return self._ask("version", lambda: self.store.version)

    @property
    def resets(self) -> int:
        """How often the server's data was restored from a backup."""
        return self._ask("resets", lambda: self.store.resets)

    @property
    def is_partial(self) -> bool:
        """Whether the store has only a share of the objects."""
        return self._ask("is_partial", lambda: self.store.is_partial)

    def count(self) -> int:
        """Return the number of objects."""
        return self._ask("count", lambda: len(self.store))

    def staleness(self) -> float:
        """Return the seconds since the server last reported a change, or by a bookmark that there was none."""
        return self._ask("staleness", self.store.staleness)

    def behind(self, version: str) -> bool:
        """Return whether the store has not reached `version` yet."""
        return self._ask(f"behind {version}", lambda: self.store.behind(version))

    def wait_for(self, version: str, timeout: float) -> bool:
        """Wait until the store has reached `version`; return True, or False after `timeout` seconds."""
        return self._ask(f"wait_for {version}", lambda: self.store.wait_for(version, timeout))

    def wait_until_fresh(self, within: float, timeout: float) -> bool:
        """Wait until `staleness` is at most `within` seconds; return True, or False after `timeout` seconds."""
        return self._ask(f"wait_until_fresh {within:g}", lambda: self.store.wait_until_fresh(within, timeout))

    def wait_for_deletion(self, obj: ObjectMeta, timeout: float) -> bool:
        """Wait until the store shows that `obj` was deleted; return True, or False after `timeout` seconds."""
        what = f"wait_for_deletion {obj.namespace}/{obj.name} {obj.uid} {obj.resource_version}"
        return self._ask(what, lambda: self.store.wait_for_deletion(obj, timeout))

    def _ask(self, what: str, ask: Callable[[], T]) -> T:
        attempt = current_attempt()
        return ask() if attempt is None else attempt.ask(self._resource, what, ask)
