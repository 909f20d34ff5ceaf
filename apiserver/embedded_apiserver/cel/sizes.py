# SPDX-License-Identifier: Apache-2.0
"""Sizes that the static estimate reads from types and literals."""

from __future__ import annotations

from typing import NamedTuple

from embedded_apiserver.cel import costs, syntax, types
from embedded_apiserver.cel.ranges import Range, exactly
from embedded_apiserver.cel.syntax import Node
from embedded_apiserver.cel.types import Kind, Type

_SCALARS = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})
Path = tuple[str, ...]
"""Where a value is: a variable, fields, and `@items`, `@keys`, `@values` or `@indices` of a list or map."""


class Entries(NamedTuple):
    """The ranges of the sizes of keys and values in a list or map that the expression creates."""

    kind: Kind
    key: Range
    value: Range

    def union(self, other: Entries | None) -> Entries | None:
        """Return ranges that contain those of both; None if `other` is None."""
        if other is None:
            return None
        return Entries(self.kind, self.key.union(other.key), self.value.union(other.value))


class Local(NamedTuple):
    """The facts about the value of a loop variable, from which the cost of a loop is estimated.

    Attributes:
        path: The place of the value; empty if unknown.
        size: The range of the value's size; None if unknown.
        entries: The sizes inside the value, if it is a list or map that the expression creates; otherwise None.
    """

    path: Path
    size: Range | None
    entries: Entries | None = None


def part_of(of: Type, part: str) -> Type | None:
    """Return the element, key, value or field type of a type, selected by the path step `part`; None if there is
    none.
    """
    if part in ("@items", "@values"):
        return of.parameters[-1] if of.kind in (Kind.LIST, Kind.MAP) else None
    if part == "@keys":
        return of.parameters[0] if of.kind is Kind.MAP else None
    if of.kind is Kind.MAP and of.parameters[-1] == types.ANY:
        return of.parameters[-1]  # as a real server estimates attributes of devices that are named by a field
    field = of.field(part)
    return None if field is None else field.type


def literal_size(node: Node) -> Range | None:
    """Return the size of a literal; None if the node is not a literal with a size."""
    if isinstance(node, syntax.Literal):
        return None if isinstance(node.value, Type) else exactly(costs.size_of(node.value))
    if isinstance(node, syntax.ListLiteral):
        return exactly(len(node.elements))
    if isinstance(node, syntax.MapLiteral):
        return exactly(len(node.entries))
    return None


def is_scalar(of: Type) -> bool:
    """Return whether a type is a scalar one, whose values have the size 1, or an optional of one."""
    if of.kind is Kind.OPAQUE and of.name == types.OPTIONAL_NAME:
        return is_scalar(of.parameters[0])
    return of.kind in _SCALARS
