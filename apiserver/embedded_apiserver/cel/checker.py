# SPDX-License-Identifier: Apache-2.0
"""The type checker: it finds the type of each part of an expression, and the overloads of each call."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from embedded_apiserver.cel import syntax, types
from embedded_apiserver.cel.declarations import Environment, Overload
from embedded_apiserver.cel.errors import Issue
from embedded_apiserver.cel.lexer import Source
from embedded_apiserver.cel.names import qualified_name, unwrapped
from embedded_apiserver.cel.standard import STANDARD, TYPE_NAMES
from embedded_apiserver.cel.syntax import Node
from embedded_apiserver.cel.types import DYN, ERROR, Kind, Type
from embedded_apiserver.cel.unification import (
    FREE,
    Substitutions,
    is_dynamic,
    most_general,
    with_fresh_parameters,
)
from embedded_apiserver.cel.values import type_of

_BALANCED = ("_&&_", "_||_")


def checked(tree: Node, source: Source, environment: Environment) -> list[Issue]:
    """Add types and overloads to a tree, and return the errors that the type checker found."""
    checker = _Checker(source, environment)
    checker.check(tree)
    for node in checker.seen:
        node.type = checker.substitutions.applied(node.type, FREE)
    return checker.issues


class _Checker:
    def __init__(self, source: Source, environment: Environment) -> None:
        self.issues: list[Issue] = []
        self.seen: list[Node] = []
        self.substitutions = Substitutions()
        self._source = source
        self._environment = environment
        self._locals: list[dict[str, Type]] = []
        self._fresh = 0

    def check(self, node: Node) -> Type:
        """Find the type of a part, and of all below it."""
        node.type = _CHECKS[type(node)](self, node)
        self.seen.append(node)
        return node.type

    def _issue(self, offset: int, message: str) -> None:
        self.issues.append(self._source.issue(offset, message))

    def _undeclared(self, offset: int, name: str) -> Type:
        self._issue(offset, f"undeclared reference to '{name}' (in container '')")
        return ERROR

    def _assigns(self, target: Type, source: Type) -> bool:
        return self.substitutions.assigns([target], [source])

    def _mismatch(self, node: Node, expected: Type, found: Type) -> None:
        self._issue(node.offset, f"expected type '{expected}' but found '{found}'")

    def _new_parameter(self) -> Type:
        self._fresh += 1
        return types.parameter(f"_var{self._fresh - 1}")

    def _literal(self, node: syntax.Literal) -> Type:
        return types.type_of_type(node.value) if isinstance(node.value, Type) else type_of(node.value)

    def _variable(self, name: str) -> Type | None:
        """Return the type of a name: of a local variable, a declared one, or a type that is used as a value."""
        if not name.startswith("."):
            for scope in reversed(self._locals):
                if name in scope:
                    return scope[name]
        name = name.removeprefix(".")
        found = self._environment.variables.get(name)
        if found is not None:
            return found
        named = self._type(name)
        return None if named is None else types.type_of_type(named)

    def _type(self, name: str) -> Type | None:
        found = TYPE_NAMES.get(name) or self._environment.types.get(name)
        if found is None and self._environment.structures is not None:
            return self._environment.structures(name)
        return found

    def _identifier(self, node: syntax.Identifier) -> Type:
        found = self._variable(node.name)
        return self._undeclared(node.offset, node.name) if found is None else found

    def _select(self, node: syntax.Select) -> Type:
        qualified = qualified_name(node)
        if qualified is not None and not node.tests and not node.optional:
            found = self._qualified_variable(qualified)
            if found is not None:
                node.name = qualified
                return found
        found = self._field_of(node, self.check(node.operand))
        if node.tests:
            return types.BOOL
        return self.substitutions.applied(found)

    def _qualified_variable(self, name: str) -> Type | None:
        first = name.removeprefix(".").split(".")[0]
        if not name.startswith(".") and any(first in scope for scope in self._locals):
            return None
        return self._variable(name)

    def _field_of(self, node: syntax.Select, operand: Type) -> Type:
        operand = self.substitutions.applied(operand)
        held, is_optional = unwrapped(operand)
        found = DYN
        if held.kind is Kind.MAP:
            found = held.parameters[1]
        elif held.kind is Kind.OBJECT:
            field = held.field(node.field)
            if field is None:
                self._issue(node.offset, f"undefined field '{node.field}'")
                found = ERROR
            else:
                node.property, found = field.property, field.type
        elif held.kind is Kind.PARAMETER:
            self._assigns(DYN, held)
        elif held.kind is Kind.OPAQUE and held.name.startswith("kubernetes."):  # objects there, with no fields known
            self._issue(node.offset, f"unexpected failed resolution of '{held}'")
            found = ERROR
        elif not is_dynamic(held):
            self._issue(node.offset, f"type '{held}' does not support field selection")
        return types.optional_of(found) if is_optional or node.optional else found

    def _call(self, node: syntax.Call) -> Type:
        for argument in node.arguments:
            self.check(argument)
        overloads = self._of_namespace(node)
        if not overloads:
            if node.target is not None:
                self.check(node.target)
            overloads = self._overloads(node.function.removeprefix("."))
        if not overloads:
            return self._undeclared(node.offset, node.function)
        if node.function in _BALANCED:
            return self._logical(node, overloads)
        return self._resolved(node, overloads)

    def _of_namespace(self, node: syntax.Call) -> tuple[Overload, ...]:
        """Return the overloads of a function whose name has dots, which looks like a method of a variable."""
        prefix = None if node.target is None else qualified_name(node.target)
        if prefix is None:
            return ()
        name = f"{prefix}.{node.function}".removeprefix(".")
        overloads = self._overloads(name)
        if overloads:
            node.function, node.target = name, None
        return overloads

    def _overloads(self, name: str) -> tuple[Overload, ...]:
        return (*STANDARD.get(name, ()), *self._environment.overloads(name))

    def _logical(self, node: syntax.Call, overloads: Iterable[Overload]) -> Type:
        fits = True
        for argument in node.arguments:
            if not self._assigns(argument.type, types.BOOL):
                self._mismatch(argument, types.BOOL, argument.type)
                fits = False
        node.overloads = list(overloads)
        return types.BOOL if fits else ERROR

    def _resolved(self, node: syntax.Call, overloads: Iterable[Overload]) -> Type:
        """Find the overloads that fit; of several results that differ, the type is `dyn`."""
        operands = [operand.type for operand in node.operands]
        result: Type | None = None
        node.overloads = []
        for overload in overloads:
            if overload.member is (node.target is None):
                continue
            self._fresh += 1
            *wanted, made = with_fresh_parameters([*overload.arguments, overload.result], self._fresh)
            if not self.substitutions.assigns(operands, wanted):
                continue
            node.overloads.append(overload)
            made = self.substitutions.applied(made)
            if result is None:
                result = made
            elif result.kind is not Kind.DYN and made != result:
                result = DYN
        if result is None:
            shown = [str(self.substitutions.applied(operand, FREE)) for operand in operands]
            signature = f"({', '.join(shown)})" if node.target is None else f"{shown[0]}.({', '.join(shown[1:])})"
            self._issue(node.offset, f"found no matching overload for '{node.function}' applied to '{signature}'")
            return ERROR
        return result

    def _joined(self, before: Type | None, found: Type) -> Type:
        """Return the type of elements so far; `literal_checks` refuses those of several types."""
        if before is None:
            return found
        if self._assigns(before, found):
            return most_general(before, found)
        return DYN

    def _element(self, node: Node, marked: bool) -> Type:
        found = self.check(node)
        if not marked:
            return found
        held, is_optional = unwrapped(found)
        if not is_optional and found.kind is not Kind.DYN:
            self._mismatch(node, types.optional_of(held), found)
        return held

    def _list(self, node: syntax.ListLiteral) -> Type:
        joined: Type | None = None
        for place, element in enumerate(node.elements):
            joined = self._joined(joined, self._element(element, place in node.optional))
        return types.list_of(joined or self._new_parameter())

    def _map(self, node: syntax.MapLiteral) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self._joined(key, self.check(entry.key))
            value = self._joined(value, self._element(entry.value, entry.optional))
        return types.map_of(key or self._new_parameter(), value or self._new_parameter())

    def _structure(self, node: syntax.StructureLiteral) -> Type:
        made = self._type(node.name.removeprefix("."))
        if made is None:
            self._undeclared(node.offset, node.name)
        elif made.kind is not Kind.OBJECT:
            self._issue(node.offset, f"'{made}' is not a message type")
            made = ERROR
        for field in node.fields:
            found = self._element(field.value, field.optional)
            if made is None or made.kind is not Kind.OBJECT:
                continue
            declared = made.field(field.name)
            if declared is None:
                self._issue(field.offset, f"undefined field '{field.name}'")
                continue
            field.property = declared.property
            if not self._assigns(declared.type, found):
                wording = f"expected type of field '{field.name}' is '{declared.type}' but provided type is '{found}'"
                self._issue(field.offset, wording)
        return made or ERROR

    def _comprehension(self, node: syntax.Comprehension) -> Type:
        over = self.substitutions.applied(self.check(node.over))
        collected = self.check(node.init)
        first, second = self._iterated(node, over)
        self._locals.append({node.accumulator: collected})
        self._locals.append(
            {node.variable: first} if node.second is None else {node.variable: first, node.second: second}
        )
        self._expect(node.condition, types.BOOL)
        self._expect(node.step, collected)
        self._locals.pop()
        found = self.check(node.result)
        self._locals.pop()
        return self.substitutions.applied(found)

    def _expect(self, node: Node, wanted: Type) -> None:
        found = self.check(node)
        if not self._assigns(wanted, found):
            self._mismatch(node, wanted, found)

    def _iterated(self, node: syntax.Comprehension, over: Type) -> tuple[Type, Type]:
        """Return the types of the variables of a loop."""
        if over.kind is Kind.LIST:
            element = over.parameters[0]
            return (element, element) if node.second is None else (types.INT, element)
        if over.kind is Kind.MAP:
            return over.parameters[0], over.parameters[1]
        if is_dynamic(over) or over.kind is Kind.PARAMETER:
            self._assigns(DYN, over)
            return DYN, DYN
        wording = f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self._issue(node.over.offset, wording)
        return ERROR, ERROR


_CHECKS: dict[type[Node], Callable[..., Type]] = {
    syntax.Literal: _Checker._literal,
    syntax.Identifier: _Checker._identifier,
    syntax.Select: _Checker._select,
    syntax.Call: _Checker._call,
    syntax.ListLiteral: _Checker._list,
    syntax.MapLiteral: _Checker._map,
    syntax.StructureLiteral: _Checker._structure,
    syntax.Comprehension: _Checker._comprehension,
}
