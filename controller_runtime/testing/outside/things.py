# SPDX-License-Identifier: Apache-2.0
"""A fake of a service that holds named items, such as buckets, topics or DNS records."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from controller_runtime.testing.outside.declaring import outside, reads


class Missing(Exception):
    """No item has the given name."""


class Exists(Exception):
    """An item with the given name exists already."""


@outside()
class NamedThings:
    """A fake of a service that holds items by name, each a dict of properties.

    A call that cannot connect raises `ConnectionRefusedError`, and one without an answer `TimeoutError`. For the errors
    of another library, or for a service with weaker guarantees, derive a class with the decorator `@outside(…)`.

    Args:
        things: The initial items: the properties, by name.

    Attributes:
        state: The properties of the items, by name.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(self, **things: Mapping[str, Any]) -> None:
        self.state: dict[str, dict[str, Any]] = {name: dict(thing) for name, thing in things.items()}

    def create(self, name: str, **properties: Any) -> None:
        """Create an item.

        Raises:
            Exists: An item has this name.
        """
        if name in self.state:
            raise Exists(name)
        self.state[name] = properties

    def put(self, name: str, **properties: Any) -> None:
        """Create an item, or replace all properties of an existing one."""
        self.state[name] = properties

    def alter(self, name: str, **properties: Any) -> None:
        """Change the given properties of an item; the others stay.

        Raises:
            Missing: No item has this name.
        """
        self.state[name] = {**self._found(name), **properties}

    def delete(self, name: str) -> None:
        """Delete an item.

        Raises:
            Missing: No item has this name.
        """
        self._found(name)
        del self.state[name]

    @reads
    def get(self, name: str) -> dict[str, Any]:
        """Return a copy of the properties of an item.

        Raises:
            Missing: No item has this name.
        """
        return copy.deepcopy(self._found(name))

    @reads
    def names(self) -> list[str]:
        """Return the names of all items, sorted."""
        return sorted(self.state)

    def _found(self, name: str) -> dict[str, Any]:
        if name not in self.state:
            raise Missing(name)
        return self.state[name]
