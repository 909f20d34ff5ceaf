# SPDX-License-Identifier: Apache-2.0
"""The hollow nodes that a command concerns: by name, by zone, by rack, or a number of them at random."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Collection, Sequence

import attrs

from apimachinery.errors import UsageError
from controllers.hollow.node import node_name, rack_of, zone_of


@attrs.frozen
class Selection:
    """Selects hollow nodes by exactly one of its four attributes.

    Attributes:
        names: The nodes with these names.
        zone: All nodes of this zone.
        random: The number of nodes, chosen at random from those that the command would change.
        rack: All nodes of this rack.

    Raises:
        UsageError: None or more than one of the attributes is given, or `random` is negative.
    """

    names: Sequence[str] = ()
    zone: str = ""
    random: int = 0
    rack: str = ""

    def __attrs_post_init__(self) -> None:
        if sum(map(bool, (self.names, self.zone, self.random, self.rack))) != 1 or self.random < 0:
            raise UsageError("name hollow nodes, or give --zone ZONE, --rack RACK or --random N")

    def among(self, count: int) -> list[int]:
        """Return the indices of the selected nodes among `count` nodes; all indices for `random`, since the caller
        chooses.

        Raises:
            UsageError: There is no such node, zone or rack.
        """
        if self.random:
            return [*range(count)]
        kind, asked, name_of = self._asked()
        found: dict[str, list[int]] = {}
        for index in range(count):
            found.setdefault(name_of(index), []).append(index)
        for name in asked:
            if name not in found:
                raise UsageError(f"no hollow node is {kind} {name!r}: {_hint(name, found)}")
        return [index for name in dict.fromkeys(asked) for index in found[name]]

    def _asked(self) -> tuple[str, Sequence[str], Callable[[int], str]]:
        """Return words for the kind of selection, the names asked for, and the function from index to such a name."""
        if self.names:
            return "named", self.names, node_name
        return ("in zone", [self.zone], zone_of) if self.zone else ("in rack", [self.rack], rack_of)


def _hint(asked: str, names: Collection[str]) -> str:
    """Return the nearest of `names`, or a few of them."""
    near = difflib.get_close_matches(asked, names, n=1)
    some = ", ".join(itertools.islice(names, 3)) + (", ..." if len(names) > 3 else "")
    return f"did you mean {near[0]}" if near else f"there are {some}"
