# SPDX-License-Identifier: Apache-2.0
"""Compiles a checked tree to functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from embedded_apiserver.cel import logic, loops, syntax
from embedded_apiserver.cel.calls import call, makes_unsure, runtime_name
from embedded_apiserver.cel.code import Code, Frame, Run, constant
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.loops import Loop
from embedded_apiserver.cel.optionals import selected
from embedded_apiserver.cel.syntax import ComprehensionForm, Node
from embedded_apiserver.cel.types import Type
from embedded_apiserver.cel.values import Optional, Structure, Value, type_of

_LIST_COST = 10
_MAP_COST = 30
_STRUCTURE_COST = 40
_ENTRY_STEPS = 10  # an entry of a map takes up to 100 bytes
_TURN_STEPS = 4


class CompiledTree(NamedTuple):
    """The compiled form of an expression's tree.

    Attributes:
        code: The code of the whole expression.
        slots: The number of slots for loop variables.
        variables: The names of the variables that the expression reads.
        steps: The maximum number of steps outside of loops; loops count their own steps.
    """

    code: Code
    slots: int
    variables: frozenset[str]
    steps: int


def compiled_tree(tree: Node, types: Callable[[str], Type | None]) -> CompiledTree:
    """Return the compiled form of a type-checked tree; `types` returns the type with a name."""
    compiler = _Compiler(types)
    code = compiler.code(tree)
    return CompiledTree(code, compiler.slots, frozenset(compiler.variables), compiler.steps)


class _Compiler:
    def __init__(self, types: Callable[[str], Type | None]) -> None:
        self.slots = 0
        self.steps = 0
        self.variables: set[str] = set()
        self._types = types
        self._names: list[tuple[str, int]] = []
        self._is_unsure = False

    def code(self, node: Node) -> Code:
        """Return the code of a node, and add the number of its nodes to `steps`; a constant part counts as one."""
        before = self.steps
        code = _COMPILES[type(node)](self, node)
        self.steps = before + 1 if code.literal else self.steps + 1
        return code

    def _literal(self, node: syntax.Literal) -> Code:
        return constant(node.value)

    def _slot(self, name: str) -> int:
        self._names.append((name, self.slots))
        self.slots += 1
        return self.slots - 1

    def _identifier(self, node: syntax.Identifier) -> Code:
        return self._variable(node.name, node.type)

    def _variable(self, name: str, of: Type) -> Code:
        found = next((slot for local, slot in reversed(self._names) if local == name), None)
        if found is not None:
            return Code(lambda frame: frame.locals[found], 1)
        name = name.removeprefix(".")
        if of.kind.name == "TYPE" and self._types(name) is not None:
            return constant(self._types(name))
        self.variables.add(name)

        def run(frame: Frame) -> Value:
            try:
                return frame.bindings[name]
            except KeyError:
                raise EvaluationError(f"no such attribute(s): {name}") from None

        return Code(run, 1)

    def _select(self, node: syntax.Select) -> Code:
        if node.name is not None:
            return self._variable(node.name, node.type)
        if node.tests:
            return self._presence(node)
        if node.optional:
            operand, key = self.code(node.operand), node.property or node.field
            read = operand.run
            return Code(lambda frame: selected(read(frame), key), operand.cost + 1)
        keys: list[str] = []
        root: Node = node
        while isinstance(root, syntax.Select) and not root.tests and not root.optional and root.name is None:
            keys.append(root.property or root.field)
            root = root.operand
        operand = self.code(root)
        is_attribute = isinstance(root, (syntax.Identifier, syntax.Select)) or _is_index(root)
        cost = operand.cost + len(keys) + (0 if is_attribute else 1)
        return Code(_path(operand.run, tuple(reversed(keys))), cost)

    def _presence(self, node: syntax.Select) -> Code:
        operand, key = self.code(node.operand), node.property or node.field
        read = operand.run

        def run(frame: Frame) -> Value:
            value = read(frame)
            if type(value) is dict:
                return key in value
            return _has(value, key)

        return Code(run, max(operand.cost - 1, 0))

    def _call(self, node: syntax.Call) -> Code:
        operands = [self.code(operand) for operand in node.operands]
        # A part that takes the value of another, also as a variable, is compiled after it.
        self._is_unsure = self._is_unsure or makes_unsure(node)
        match node.function, operands:
            case ("_&&_" | "_||_", [left, right]):
                return logic.junction(left, right, node.function == "_||_")
            case ("_?_:_", [condition, then, otherwise]):
                return logic.conditional(condition, then, otherwise)
            case ("or" | "orValue", [left, right]) if node.overloads[0].id.startswith("optional_"):
                return logic.alternative(left, right, node.function == "orValue")
            case ("@not_strictly_false", [inner]):
                return logic.not_strictly_false(inner)
        return call(node, operands, is_unsure=self._is_unsure)

    def _list(self, node: syntax.ListLiteral) -> Code:
        elements = [self.code(element) for element in node.elements]
        if not node.optional and all(element.literal for element in elements):
            return constant([element.value for element in elements])
        reads = [(element.run, place in node.optional) for place, element in enumerate(elements)]
        plain = [element.run for element in elements]

        def run(frame: Frame) -> Value:
            made = []
            for read, is_optional in reads:
                value = read(frame)
                if is_optional:
                    made += _unwrapped(value, "cannot initialize optional list element from non-optional value {}")
                else:
                    made.append(value)
            return made

        cost = sum(element.cost for element in elements) + _LIST_COST
        return Code(run if node.optional else lambda frame: [read(frame) for read in plain], cost)

    def _map(self, node: syntax.MapLiteral) -> Code:
        entries = [(self.code(entry.key), self.code(entry.value), entry.optional) for entry in node.entries]
        cost = sum(key.cost + value.cost for key, value, _ in entries) + _MAP_COST
        self.steps += _ENTRY_STEPS * len(entries)
        return Code(_made_map([(key.run, value.run, marked) for key, value, marked in entries]), cost)

    def _structure(self, node: syntax.StructureLiteral) -> Code:
        fields = [(field.property, self.code(field.value), field.optional) for field in node.fields]
        of, reads = node.type, [(name, value.run, marked) for name, value, marked in fields]

        def run(frame: Frame) -> Value:
            made: dict[str, Value] = {}
            for name, read, is_optional in reads:
                value = read(frame)
                wording = f"cannot initialize optional entry '{name}' from non-optional value {{}}"
                for held in _unwrapped(value, wording) if is_optional else [value]:
                    made[name] = held
            return Structure(of, made)

        self.steps += _ENTRY_STEPS * len(fields)
        return Code(run, sum(value.cost for _, value, _ in fields) + _STRUCTURE_COST)

    def _comprehension(self, node: syntax.Comprehension) -> Code:
        if node.form is ComprehensionForm.BIND:
            value = self.code(node.init)
            slot = self._slot(node.accumulator)
            result = self.code(node.result)
            self._names.pop()
            return loops.bound(value, slot, result)
        over = self.code(node.over)
        known, outside = len(self._names), self.steps
        slot = self._slot(node.variable)
        second = None if node.second is None else self._slot(node.second)
        keep = None if node.filter is None else self.code(node.filter)
        body, whole = node.transform, False
        if node.form is ComprehensionForm.MAP and isinstance(body, syntax.Call):
            whole = len(body.arguments) == 2
            body = body.arguments[-1]
        made = self.code(body)
        loop = Loop(over, slot, second, made, keep, whole, self.steps - outside + _TURN_STEPS)
        self.steps = outside
        del self._names[known:]
        return _FORMS[node.form](loop)


def _is_index(node: Node) -> bool:
    return isinstance(node, syntax.Call) and node.function == "_[_]"


def _path(root: Run, keys: tuple[str, ...]) -> Run:
    """Return a chain of selections; what cannot be found at once is looked at again, for the error."""
    if len(keys) == 1:
        key = keys[0]

        def run_one(frame: Frame) -> Value:
            value = root(frame)
            if type(value) is dict and key in value:
                return value[key]
            return _field(value, key)

        return run_one

    def run(frame: Frame) -> Value:
        value = root(frame)
        for key in keys:
            value = value[key] if type(value) is dict and key in value else _field(value, key)
        return value

    return run


def _field(value: Value, key: str) -> Value:
    if isinstance(value, dict):
        try:
            return value[key]
        except KeyError:
            raise EvaluationError(f"no such key: {key}") from None
    if isinstance(value, Optional):
        if value.present and not isinstance(value.value, dict):
            return _field(value.value, key)
        return selected(value, key)
    if isinstance(value, list):
        raise EvaluationError("unsupported index type 'string' in list")
    raise EvaluationError(f"no such key: {key}")


def _has(value: Value, key: str) -> bool:
    if isinstance(value, dict):
        return key in value
    if isinstance(value, Optional):
        return value.present and _has(value.value, key)
    return False


def _unwrapped(value: Value, wording: str) -> list[Value]:
    if not isinstance(value, Optional):
        raise EvaluationError(wording.format(value))
    return [value.value] if value.present else []


def _made_map(entries: list[tuple[Run, Run, bool]]) -> Run:
    def run(frame: Frame) -> Value:
        made: dict[Value, Value] = {}
        for read_key, read, is_optional in entries:
            key, value = read_key(frame), read(frame)
            wording = f"cannot initialize optional entry '{key}' from non-optional value {{}}"
            held = _unwrapped(value, wording) if is_optional else [value]
            if not held:
                continue
            if isinstance(key, (list, dict)):
                raise EvaluationError(f"unsupported key type: {runtime_name(type_of(key))}")
            made[key] = held[0]
        return made

    return run


_FORMS: dict[ComprehensionForm, Callable[[Loop], Code]] = {
    ComprehensionForm.ALL: lambda loop: loops.quantified(loop, False),
    ComprehensionForm.EXISTS: lambda loop: loops.quantified(loop, True),
    ComprehensionForm.EXISTS_ONE: loops.exactly_one,
    ComprehensionForm.LIST: loops.into_list,
    ComprehensionForm.MAP: loops.into_map,
}
_COMPILES: dict[type[Node], Callable[..., Code]] = {
    syntax.Literal: _Compiler._literal,
    syntax.Identifier: _Compiler._identifier,
    syntax.Select: _Compiler._select,
    syntax.Call: _Compiler._call,
    syntax.ListLiteral: _Compiler._list,
    syntax.MapLiteral: _Compiler._map,
    syntax.StructureLiteral: _Compiler._structure,
    syntax.Comprehension: _Compiler._comprehension,
}
