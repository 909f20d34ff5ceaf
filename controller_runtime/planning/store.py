# SPDX-License-Identifier: Apache-2.0
"""A store whose readers find what is planned in the place of what it replaces."""

from __future__ import annotations

from apimachinery.host import Host
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, PlainKey, cached_from_bytes
from controller_runtime.api.collection import Collection
from controller_runtime.cache.forms import Form
from controller_runtime.cache.index import Index
from controller_runtime.cache.store import Store
from controller_runtime.cache.transforms import Transform, transformed
from controller_runtime.core.resource_paths import ResourcePath
from controller_runtime.planning.overlay import Overlay, PlannedObject
from controller_runtime.planning.reads import encoded
from controller_runtime.planning.selection import Selection, only_metadata


class PlannedStore(Store):
    """A store whose reads return planned states of objects instead of those at the server.

    A planned object belongs to the collection if it is selected before the transform; reads return it after the
    transform. Later events of the server do not change a planned state.

    Args:
        host: The source of the time and the lock; see `Store`.
        label: The name of the lock; see `Store`.
        form: Returns the form in which an object is stored; see `Store`.
        collection: The objects.
        transform: The transform of the cache.
        overlay: The planned states.

    Threads: as for `Store`.
    """

    def __init__(
        self,
        host: Host,
        label: str,
        form: Form,
        collection: Collection,
        transform: Transform | None,
        overlay: Overlay,
    ) -> None:
        super().__init__(host, label, form)
        resource = collection.resource
        self._place = ResourcePath(resource.group, resource.version, resource.plural)
        self._is_partial_object = resource.is_partial
        self._selection = Selection.of(collection)
        self._transform = transform
        self._overlay = overlay
        # Guards the fields below, which follow the overlay: planned states by key, None for those that are not here.
        self._planned_lock = host.lock(f"planned objects of {label}")
        self._position = 0
        self._states: dict[PlainKey, Cached | None] = {}
        self._planned_indices: dict[str, Index] = {}

    def __len__(self) -> int:
        return len(self.list())

    def get(self, key: ObjectKey) -> Cached | None:
        """Return the planned state of an object, or else its state at the server; None if there is none."""
        states = self._follow()
        return states[key] if key in states else super().get(key)

    def list(self) -> list[Cached]:
        """Return all objects, in planned states where there are any; new objects come last."""
        states, present = self._follow(), super().list()
        if not states:
            return present
        found = [states.get(cached.plain_key, cached) for cached in present]
        known = {cached.plain_key for cached in present if cached.plain_key in states}
        found += [cached for key, cached in states.items() if key not in known]
        return [cached for cached in found if cached is not None]

    def by_index(self, name: str, value: str) -> tuple[Cached, ...]:
        """Return the objects that have `value` in the index `name`, by their planned states; see `Store.by_index`."""
        states, present = self._follow(), super().by_index(name, value)
        if not states:
            return present
        with self._planned_lock:
            planned = [*self._planned_indices[name].keys.get(value, {})] if name in self._planned_indices else []
        there = [cached for cached in present if cached.plain_key not in states]
        return (*there, *(cached for key in planned if (cached := states.get(key)) is not None))

    def index_values(self, name: str) -> tuple[str, ...]:
        """Return the distinct values in the index `name`, by planned states; see `Store.index_values`."""
        return tuple(value for value in self._values(name) if self.by_index(name, value))

    def wait_for_deletion(self, obj: ObjectMeta, timeout: float) -> bool:
        """Return at once whether the deletion of `obj` is planned, if anything is planned for it.

        Otherwise wait as `Store.wait_for_deletion`.
        """
        key = ObjectKey(obj.name, obj.namespace)
        if key not in self._follow():
            return super().wait_for_deletion(obj, timeout)
        found = self.get(key)
        return found is None or found.uid != obj.uid or found.meta.deletion_timestamp is not None

    def _values(self, name: str) -> dict[str, None]:
        self._follow()
        with self._planned_lock:
            planned = [*self._planned_indices[name].keys] if name in self._planned_indices else []
        return dict.fromkeys([*super().index_values(name), *planned])

    def _follow(self) -> dict[PlainKey, Cached | None]:
        """Take in what was planned since the last call, and return the planned states by key; do not change them."""
        while True:
            with self._planned_lock:
                position, states, known = self._position, self._states, {**self._planned_indices}
            changes, end = self._overlay.since(self._place, position)
            missing = [name for name in [*self._indices] if name not in known]
            if not changes and not (missing and states):
                return states
            # Transforms and index functions are user code, so they run before the lock is taken.
            fresh = {(each.target.name, each.target.namespace): self._state_of(each) for each in changes}
            there = {key: cached for key, cached in states.items() if cached is not None}
            added = {name: self._indices[name].over(there) for name in missing}
            moves = [
                (index, key, index.values(states.get(key)), index.values(cached))
                for index in [*known.values(), *added.values()]
                for key, cached in fresh.items()
            ]
            with self._planned_lock:
                if self._position != position:
                    continue
                self._position = end
                self._planned_indices.update(added)
                for index, key, before, after in moves:
                    index.move(key, before, after)
                states.update(fresh)
                return states

    def _state_of(self, planned: PlannedObject) -> Cached | None:
        state = planned.state
        if state is None or not self._selection.has(state):
            return None
        raw = encoded(only_metadata(state) if self._is_partial_object else state)
        return transformed(cached_from_bytes(raw), self._transform)
