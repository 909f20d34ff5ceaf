# SPDX-License-Identifier: Apache-2.0
"""The static estimate: the least and the most that an evaluation can cost, from the sizes that types have.

It follows cel-go's, whose numbers are those that a real server refuses rules by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from controller_runtime.apiserver.cel import costs, syntax, types
from controller_runtime.apiserver.cel.declarations import CallEstimate, Operand, Overload
from controller_runtime.apiserver.cel.ranges import MOST, UNKNOWN, Range, exactly
from controller_runtime.apiserver.cel.syntax import ACCUMULATOR, Form, Node
from controller_runtime.apiserver.cel.types import Kind, Type

_ONE = exactly(1)
_NOTHING = exactly(0)
_SCALARS = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.TYPE, Kind.UINT})
_CHARGED = frozenset({Kind.MAP, Kind.OBJECT, Kind.PARAMETER})
_Path = tuple[str, ...]


class _Entries(NamedTuple):
    """The sizes of the keys and values of a list or map that the expression makes."""

    kind: Kind
    key: Range
    value: Range

    def union(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.kind, self.key.union(other.key), self.value.union(other.value))


class _Local(NamedTuple):
    """What is known of a variable of a loop."""

    path: _Path
    size: Range | None
    entries: _Entries | None = None


def estimated(tree: Node, variables: Mapping[str, Type]) -> Range:
    """Return the range of costs of a checked tree."""
    return _Estimator(variables).cost(tree)


class _Estimator:
    def __init__(self, variables: Mapping[str, Type]) -> None:
        self._variables = variables
        self._locals: dict[str, list[_Local]] = {}
        self._paths: dict[int, _Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, _Entries] = {}

    def cost(self, node: Node) -> Range:
        """Return the range of costs of a part."""
        return _COSTS[type(node)](self, node)

    def _literal(self, node: Node) -> Range:
        return _NOTHING

    def _local(self, name: str) -> _Local | None:
        found = self._locals.get(name)
        return found[-1] if found else None

    def _identifier(self, node: syntax.Identifier) -> Range:
        found = self._local(node.name)
        self._paths[id(node)] = (node.name.removeprefix("."),) if found is None else found.path
        return _ONE

    def _select(self, node: syntax.Select) -> Range:
        if node.name is not None:
            self._paths[id(node)] = (node.name,)
            return _ONE
        cost = self.cost(node.operand)
        if node.tests:
            return cost
        if node.optional:
            return cost.plus(_ONE)
        if node.operand.type.kind in _CHARGED:
            cost = cost.plus(_ONE)
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        return cost

    def _call(self, node: syntax.Call) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.arguments[0]).plus(_ONE)
            self._copy(node, node.arguments[0])
            return cost
        arguments = [self.cost(argument) for argument in node.arguments]
        operands = [self._operand(argument) for argument in node.arguments]
        total = _NOTHING
        if node.target is not None:
            total = self.cost(node.target)
            operands = [self._operand(node.target), *operands]
        found: Range | None = None
        size: Range | None = None
        for overload in node.overloads:
            estimate = self._overload(node, overload, operands, arguments)
            found = estimate.cost if found is None else found.union(estimate.cost)
            if estimate.size is not None:
                size = estimate.size if size is None else size.union(estimate.size)
            size = self._indexed(node, overload, size)
            if size is None:
                size = self._size(node)
        if size is not None:
            self._sizes[id(node)] = size
        return total.plus(found or _NOTHING)

    def _indexed(self, node: syntax.Call, overload: Overload, size: Range | None) -> Range | None:
        part = {"index_list": "@items", "index_map": "@values"}.get(overload.id)
        if part is None:
            return size
        entries = self._entries_of(node.arguments[0])
        self._paths[id(node)] = (*self._path(node.arguments[0]), part)
        return None if entries is None else entries.value

    def _overload(
        self, node: syntax.Call, overload: Overload, operands: list[Operand], arguments: list[Range]
    ) -> CallEstimate:
        if overload.id in ("logical_and", "logical_or"):
            return CallEstimate(Range(arguments[0].least, arguments[0].plus(arguments[1]).most))
        if overload.id == "conditional":
            return self._conditional(node, operands, arguments)
        if overload.id in ("add_list", "add_string", "add_bytes"):
            one, other = (self._entries_of(argument) for argument in node.arguments)
            joined = None if one is None else one.union(other)
            if joined is not None:
                self._entries[id(node)] = joined
        made = None if overload.estimate is None else overload.estimate(operands)
        made = made or CallEstimate(_ONE)
        cost = made.cost
        for argument in arguments:
            cost = cost.plus(argument)
        return made._replace(cost=cost)

    def _conditional(self, node: syntax.Call, operands: list[Operand], arguments: list[Range]) -> CallEstimate:
        size = costs.known(operands[1]).union(costs.known(operands[2]))
        one, other = (self._entries_of(argument) for argument in node.arguments[1:])
        joined = None if one is None else one.union(other)
        if joined is not None:
            self._entries[id(node)] = joined
        return CallEstimate(arguments[0].plus(arguments[1].union(arguments[2])), size)

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        if path and path[0] in (ACCUMULATOR, "__result__"):
            path = ()
        literal = node.value if isinstance(node, syntax.Literal) else None
        return Operand(node.type, self._size(node), literal, path)

    def _list(self, node: syntax.ListLiteral) -> Range:
        cost, value = exactly(10), Range(MOST if node.elements else 0, 0)
        for element in node.elements:
            cost = cost.plus(self.cost(element))
            value = value.union(self._size_or_unknown(element))
        self._entries[id(node)] = _Entries(Kind.LIST, _ONE, value)
        return cost

    def _map(self, node: syntax.MapLiteral) -> Range:
        cost = exactly(30)
        key = value = Range(MOST if node.entries else 0, 0)
        for entry in node.entries:
            cost = cost.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key = key.union(self._size_or_unknown(entry.key))
            value = value.union(self._size_or_unknown(entry.value))
        self._entries[id(node)] = _Entries(Kind.MAP, key, value)
        return cost

    def _structure(self, node: syntax.StructureLiteral) -> Range:
        cost = exactly(40)
        for field in node.fields:
            cost = cost.plus(self.cost(field.value))
        return cost

    def _comprehension(self, node: syntax.Comprehension) -> Range:
        total = self.cost(node.over).plus(self.cost(node.init))
        collected = _Local(self._path(node.init), self._size(node.init), self._entries_of(node.init))
        self._push(node.accumulator, collected)
        if node.form is Form.BIND:
            total = total.plus(self.cost(node.result))
            self._locals[node.accumulator].pop()
            self._copy(node, node.result)
            return total
        self._push(node.variable, self._first(node))
        if node.second is not None:
            self._push(node.second, self._second(node))
        turn = self.cost(node.condition).plus(self.cost(node.step))
        self._locals[node.variable].pop()
        if node.second is not None:
            self._locals[node.second].pop()
        total = total.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        count = self._size_or_unknown(node.over)
        self._remember(node, count)
        return total.plus(count.times(turn))

    def _remember(self, node: syntax.Comprehension, count: Range) -> None:
        if isinstance(node.init, syntax.Literal):
            self._sizes[id(node)] = _ONE
            return
        self._sizes[id(node)] = count
        entries = self._entries_of(node.step)
        if entries is not None:
            self._entries[id(node)] = entries

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _first(self, node: syntax.Comprehension) -> _Local:
        """Return what is known of the first variable: an element of a list, an index, or a key."""
        entries = self._entries_of(node.over)
        is_list = (node.over.type.kind if entries is None else entries.kind) is Kind.LIST
        if node.second is None and is_list:
            return _Local((*self._path(node.over), "@items"), None if entries is None else entries.value)
        part = "@indices" if is_list else "@keys"
        return _Local((*self._path(node.over), part), None if entries is None else entries.key)

    def _second(self, node: syntax.Comprehension) -> _Local:
        entries = self._entries_of(node.over)
        is_list = (node.over.type.kind if entries is None else entries.kind) is Kind.LIST
        part = "@items" if is_list else "@values"
        return _Local((*self._path(node.over), part), None if entries is None else entries.value)

    def _path(self, node: Node) -> _Path:
        if isinstance(node, syntax.Identifier):
            found = self._local(node.name)
            if found is not None:
                return found.path
        return self._paths.get(id(node), ())

    def _copy(self, to: Node, of: Node) -> None:
        size, entries = self._size(of), self._entries_of(of)
        if size is not None:
            self._sizes[id(to)] = size
        if entries is not None:
            self._entries[id(to)] = entries

    def _size_or_unknown(self, node: Node) -> Range:
        return self._size(node) or UNKNOWN

    def _size(self, node: Node) -> Range | None:
        found = self._sizes.get(id(node))
        if found is not None:
            return found
        found = _literal_size(node)
        if found is not None:
            return found
        found = self._declared_size(self._path(node))
        if found is not None:
            self._sizes[id(node)] = found
            return found
        if _is_scalar(node.type):
            return _ONE
        if isinstance(node, syntax.Identifier):
            local = self._local(node.name)
            return None if local is None else local.size
        return None

    def _entries_of(self, node: Node) -> _Entries | None:
        found = self._entries.get(id(node))
        if found is None and isinstance(node, syntax.Identifier):
            local = self._local(node.name)
            return None if local is None else local.entries
        return found

    def _declared_size(self, path: _Path) -> Range | None:
        """Return the size that the type at a path has by its declaration; without one it is 0, as on a real server."""
        # A real server looks up each path from `self`, also that of an element of a computed list.
        root = "self" if path and (path[0] == "oldSelf" or path[0].startswith("@")) else path[:1] and path[0]
        found = self._variables.get(root) if root else None
        for part in path[1:]:
            if found is None:
                return None
            found = _part_of(found, part)
        return None if found is None else Range(0, found.size or 0)


def _part_of(of: Type, part: str) -> Type | None:
    if part in ("@items", "@values"):
        return of.parameters[-1] if of.kind in (Kind.LIST, Kind.MAP) else None
    if part == "@keys":
        return of.parameters[0] if of.kind is Kind.MAP else None
    field = of.field(part)
    return None if field is None else field.type


def _literal_size(node: Node) -> Range | None:
    if isinstance(node, syntax.Literal):
        return None if isinstance(node.value, Type) else exactly(costs.size_of(node.value))
    if isinstance(node, syntax.ListLiteral):
        return exactly(len(node.elements))
    if isinstance(node, syntax.MapLiteral):
        return exactly(len(node.entries))
    return None


def _is_scalar(of: Type) -> bool:
    if of.kind is Kind.OPAQUE and of.name == types.OPTIONAL_NAME:
        return _is_scalar(of.parameters[0])
    return of.kind in _SCALARS


_COSTS: dict[type[Node], Callable[..., Range]] = {
    syntax.Literal: _Estimator._literal,
    syntax.Identifier: _Estimator._identifier,
    syntax.Select: _Estimator._select,
    syntax.Call: _Estimator._call,
    syntax.ListLiteral: _Estimator._list,
    syntax.MapLiteral: _Estimator._map,
    syntax.StructureLiteral: _Estimator._structure,
    syntax.Comprehension: _Estimator._comprehension,
}
