# SPDX-License-Identifier: Apache-2.0
"""Which of the hollow nodes a command means: by name, by place, or so many of them."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Collection, Sequence

import attrs

from controller_runtime.core.errors import UsageError
from controllers.hollow.node import node_name, rack_of, zone_of


@attrs.frozen
class Selection:
    """Which hollow nodes are meant, by exactly one of the four.

    Attributes:
        names: These.
        zone: All of this zone.
        random: So many, drawn from those that it would change.
        rack: All of this rack.

    Raises:
        UsageError: None of the four, or more than one.
    """

    names: Sequence[str] = ()
    zone: str = ""
    random: int = 0
    rack: str = ""

    def __attrs_post_init__(self) -> None:
        if sum(map(bool, (self.names, self.zone, self.random, self.rack))) != 1 or self.random < 0:
            raise UsageError("say which hollow nodes: names, or --zone ZONE, or --rack RACK, or --random N")

    def among(self, count: int) -> list[int]:
        """The indices of those meant, of `count` hollow nodes there are; all, where they are to be drawn.

        Raises:
            UsageError: There is no such node, zone or rack.
        """
        if self.random:
            return [*range(count)]
        kind, asked, called = self._asked()
        found: dict[str, list[int]] = {}
        for index in range(count):
            found.setdefault(called(index), []).append(index)
        for name in asked:
            if name not in found:
                raise UsageError(f"no hollow node is {kind} {name!r}: {_hint(name, found)}")
        return [index for name in dict.fromkeys(asked) for index in found[name]]

    def _asked(self) -> tuple[str, Sequence[str], Callable[[int], str]]:
        if self.names:
            return "named", self.names, node_name
        return ("in zone", [self.zone], zone_of) if self.zone else ("in rack", [self.rack], rack_of)


def _hint(asked: str, names: Collection[str]) -> str:
    near = difflib.get_close_matches(asked, names, n=1)
    some = ", ".join(itertools.islice(names, 3)) + (", ..." if len(names) > 3 else "")
    return f"did you mean {near[0]}" if near else f"there are {some}"
