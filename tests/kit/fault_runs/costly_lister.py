# SPDX-License-Identifier: Apache-2.0
"""A lister whose reads of many keys take virtual time, as a walk of a large cache takes real time."""

from __future__ import annotations

from typing import Any

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.cache.lister import Lister


class CostlyLister(Lister[dict[str, Any]]):
    """Reads what another lister reads; a read of keys takes time for each of them.

    Args:
        host: Its clock.
        lister: The other lister.
        cost: Virtual seconds for each key.

    Attributes:
        cost: Virtual seconds for each key.
    """

    def __init__(self, host: Host, lister: Lister[dict[str, Any]], cost: float) -> None:
        super().__init__(lister.source, lister.resource, dict)
        self._asleep, self.cost = Stop(host, "reads of keys"), cost

    def keys(self) -> list[ObjectKey]:
        """Return the keys of all objects, after a time for each."""
        return self._after(super().keys())

    def keys_by_index(self, name: str, value: str) -> list[ObjectKey]:
        """Return the keys of the objects with a value in an index, after a time for each."""
        return self._after(super().keys_by_index(name, value))

    def _after(self, keys: list[ObjectKey]) -> list[ObjectKey]:
        if keys and self.cost:
            self._asleep.wait(self.cost * len(keys))
        return keys
