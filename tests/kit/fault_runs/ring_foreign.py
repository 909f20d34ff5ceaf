# SPDX-License-Identifier: Apache-2.0
"""The invariant of objects that have a name of the ring and are not the ring's: they are never written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from apimachinery.http import HTTPRequest
from apimachinery.objects import annotations_of
from controller_runtime.core.resource_paths import resource_path
from controller_runtime.testing.simulation import SimulatedHost
from embedded_apiserver import Stored
from kit.fault_runs.disk import Write
from kit.fault_runs.invariants import Violated

HAND = "hand"
"""The name of the host that writes these objects, and alone deletes them."""
FOREIGN = "test/of-another-program"
"""The annotation of these objects."""

_Place = tuple[str, str]


class ForeignObjects:
    """The objects of another program that are stored, by the server's disk; no member of the ring writes one.

    `HAND` writes such an object once, over an object of the ring or as a new one, and never changes it.
    """

    def __init__(self) -> None:
        self._there: set[_Place] = set()
        self._deleted: set[_Place] = set()  # a deletion by its own program or a user has begun

    @property
    def is_any(self) -> bool:
        """Whether there is one."""
        return bool(self._there)

    def begins(self, host: SimulatedHost, request: HTTPRequest) -> None:
        """Note that its own program or a user deletes an object, which may land once another has taken its name."""
        path = resource_path(request.path)
        if path is not None and request.method == "DELETE" and not host.name.startswith("r"):
            self._deleted.add((path.plural, f"{path.namespace}/{path.name}"))

    def stored(self, write: Write) -> None:
        """Raise `Violated` if a write changes or deletes one that neither its own program nor a user deletes."""
        place = _place(write.collection, write.key)
        found = None if write.raw is None else json.loads(write.raw)
        if place in self._there and (found is not None or place not in self._deleted):
            how = "deleted" if found is None else "overwritten"
            raise Violated("a foreign object is never written", f"{'/'.join(place)} was {how}")
        if found is None:
            self._there.discard(place)
            self._deleted.discard(place)
        else:
            self._note(place, found)

    def restored(self, stored: Iterable[tuple[str, Stored]]) -> None:
        """Take what an older state of the disk shows."""
        self._there.clear()
        for collection, each in stored:
            self._note(_place(collection, each.key), json.loads(each.raw))

    def _note(self, place: _Place, found: dict[str, Any]) -> None:
        if FOREIGN in annotations_of(found):
            self._there.add(place)


def _place(collection: str, key: str) -> _Place:
    return collection.partition(".")[0], key
