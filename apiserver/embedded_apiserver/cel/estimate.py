# SPDX-License-Identifier: Apache-2.0
"""The static estimate: the least and the most that an evaluation can cost, from the sizes that types have.

It follows cel-go's, whose numbers are those that a real API server refuses rules by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from embedded_apiserver.cel import costs, syntax
from embedded_apiserver.cel.declarations import CallEstimate, Operand, Overload
from embedded_apiserver.cel.ranges import MOST, UNKNOWN, Range, exactly
from embedded_apiserver.cel.sizes import Entries, Local, Path, is_scalar, literal_size, part_of
from embedded_apiserver.cel.syntax import ACCUMULATOR, ComprehensionForm, Node
from embedded_apiserver.cel.types import Kind, Type

_ONE = exactly(1)
_NOTHING = exactly(0)
_CHARGED = frozenset({Kind.MAP, Kind.OBJECT, Kind.PARAMETER})


def estimated(tree: Node, variables: Mapping[str, Type]) -> Range:
    """Return the minimum and maximum cost of evaluating a type-checked tree."""
    return _Estimator(variables).cost(tree)


class _Estimator:
    def __init__(self, variables: Mapping[str, Type]) -> None:
        self._variables = variables
        self._locals: dict[str, list[Local]] = {}
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, Entries] = {}

    def cost(self, node: Node) -> Range:
        """Return the range of costs of a part."""
        return _COSTS[type(node)](self, node)

    def _literal(self, node: Node) -> Range:
        return _NOTHING

    def _local(self, name: str) -> Local | None:
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
        self._entries[id(node)] = Entries(Kind.LIST, _ONE, value)
        return cost

    def _map(self, node: syntax.MapLiteral) -> Range:
        cost = exactly(30)
        key = value = Range(MOST if node.entries else 0, 0)
        for entry in node.entries:
            cost = cost.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key = key.union(self._size_or_unknown(entry.key))
            value = value.union(self._size_or_unknown(entry.value))
        self._entries[id(node)] = Entries(Kind.MAP, key, value)
        return cost

    def _structure(self, node: syntax.StructureLiteral) -> Range:
        cost = exactly(40)
        for field in node.fields:
            cost = cost.plus(self.cost(field.value))
        return cost

    def _comprehension(self, node: syntax.Comprehension) -> Range:
        total = self.cost(node.over).plus(self.cost(node.init))
        collected = Local(self._path(node.init), self._size(node.init), self._entries_of(node.init))
        self._push(node.accumulator, collected)
        if node.form is ComprehensionForm.BIND:
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

    def _push(self, name: str, local: Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _first(self, node: syntax.Comprehension) -> Local:
        """Return what is known of the first variable: an element of a list, an index, or a key."""
        entries = self._entries_of(node.over)
        is_list = (node.over.type.kind if entries is None else entries.kind) is Kind.LIST
        if node.second is None and is_list:
            return Local((*self._path(node.over), "@items"), None if entries is None else entries.value)
        part = "@indices" if is_list else "@keys"
        return Local((*self._path(node.over), part), None if entries is None else entries.key)

    def _second(self, node: syntax.Comprehension) -> Local:
        entries = self._entries_of(node.over)
        is_list = (node.over.type.kind if entries is None else entries.kind) is Kind.LIST
        part = "@items" if is_list else "@values"
        return Local((*self._path(node.over), part), None if entries is None else entries.value)

    def _path(self, node: Node) -> Path:
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
        found = literal_size(node)
        if found is not None:
            return found
        found = self._declared_size(self._path(node))
        if found is not None:
            self._sizes[id(node)] = found
            return found
        if is_scalar(node.type):
            return _ONE
        if isinstance(node, syntax.Identifier):
            local = self._local(node.name)
            return None if local is None else local.size
        return None

    def _entries_of(self, node: Node) -> Entries | None:
        found = self._entries.get(id(node))
        if found is None and isinstance(node, syntax.Identifier):
            local = self._local(node.name)
            return None if local is None else local.entries
        return found

    def _declared_size(self, path: Path) -> Range | None:
        """Return the size that the type at a path has by its declaration; without one it is 0, as on a real API server.

        There, a path begins at `self` whatever its first part is: also that of the elements of a computed list.
        """
        if not path:
            return None
        found = self._variables.get(path[0]) or self._variables.get("self")
        for part in path[1:]:
            found = None if found is None else part_of(found, part)
        return None if found is None else Range(0, found.size or 0)


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
