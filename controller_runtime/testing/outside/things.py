# SPDX-License-Identifier: Apache-2.0
"""A fake of a service that holds named things, such as buckets, topics or records of a DNS."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from controller_runtime.testing.outside.declaring import outside, reads


class Missing(Exception):
    """There is no thing of this name."""


class Exists(Exception):
    """There is a thing of this name already."""


@outside()
class NamedThings:
    """Holds things by their names, each a dict of its properties.

    A call that cannot connect raises `ConnectionRefusedError`, and one without an answer `TimeoutError`. Derive a class
    with `@outside(…)` for the errors of another library, and for services that promise less.

    Attributes:
        state: The things.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(self, **things: Mapping[str, Any]) -> None:
        self.state: dict[str, dict[str, Any]] = {name: dict(thing) for name, thing in things.items()}

    def create(self, name: str, **properties: Any) -> None:
        """Create a thing.

        Raises:
            Exists: There is one of this name.
        """
        if name in self.state:
            raise Exists(name)
        self.state[name] = properties

    def put(self, name: str, **properties: Any) -> None:
        """Create a thing, or give one that exists these properties and no others."""
        self.state[name] = properties

    def alter(self, name: str, **properties: Any) -> None:
        """Change some properties of a thing.

        Raises:
            Missing: No thing has this name.
        """
        self.state[name] = {**self._found(name), **properties}

    def delete(self, name: str) -> None:
        """Delete a thing.

        Raises:
            Missing: No thing has this name.
        """
        self._found(name)
        del self.state[name]

    @reads
    def get(self, name: str) -> dict[str, Any]:
        """Return a copy of the properties of a thing.

        Raises:
            Missing: No thing has this name.
        """
        return copy.deepcopy(self._found(name))

    @reads
    def names(self) -> list[str]:
        """Return the names of all things, sorted."""
        return sorted(self.state)

    def _found(self, name: str) -> dict[str, Any]:
        if name not in self.state:
            raise Missing(name)
        return self.state[name]
