# SPDX-License-Identifier: Apache-2.0
"""Reads the objects that were written since a run began; they are decoded again only after a change."""

from __future__ import annotations

from typing import Any

from controller_runtime.testing.perturbation.world import DELETED, LEFT_OUT, State, simplified
from embedded_apiserver import APIServer, Change
from embedded_apiserver.perturbation import Name, name_of


class States:
    """Reads the state of one server: the objects that have been written since the beginning of a perturbation run.

    Args:
        server: The server.

    Attributes:
        first: The server's resourceVersion when the run began.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(self, server: APIServer) -> None:
        self.first = server.storage.version
        self._storage = server.storage
        self._touched: dict[str, None] = {}
        self._deleted: dict[Name, None] = {}
        self._read_at = self.first
        self._last: State = {}

    def note(self, resource: str, change: Change) -> None:
        """Record that an object of a resource has changed."""
        if resource.partition(".")[0] in LEFT_OUT:
            return
        self._touched[resource] = None
        if change.new is None and change.old is not None and change.old.version <= self.first:
            self._deleted[name_of(resource, change.old.decode()["metadata"])] = None

    def present(self) -> State:
        """Return the present state; do not modify it."""
        if self._storage.version != self._read_at:
            self._read_at = self._storage.version
            self._last = self._read()
        return self._last

    def _read(self) -> State:
        found: dict[str, list[Any]] = {
            resource: [item.decode() for item in self._storage.read(resource).items if item.version > self.first]
            for resource in self._touched
        }
        state = dict(simplified(found))
        for name in self._deleted:
            state.setdefault(name, [DELETED])
        return state
