# SPDX-License-Identifier: Apache-2.0
"""Macros: calls that the parser replaces, as loops are."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

from embedded_apiserver.cel.syntax import (
    ACCUMULATOR,
    Call,
    Comprehension,
    ComprehensionForm,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
)

_ILLEGAL = (ACCUMULATOR, "__result__")
_SORTED = "@__sortBy_input__"


class MacroError(Exception):
    """The arguments of a macro are invalid.

    Attributes:
        offset: The offset of the argument in the expression.
        message: The error message of cel-go.
    """

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


class _Use(NamedTuple):
    """One use of a macro: where it is, its receiver, and its arguments."""

    offset: int
    target: Node | None
    arguments: list[Node]

    def call(self, function: str, *arguments: Node, target: Node | None = None) -> Call:
        return Call(self.offset, function, list(arguments), target)

    def name(self, name: str = ACCUMULATOR) -> Identifier:
        return Identifier(self.offset, name)

    def literal(self, value: bool | int) -> Literal:
        return Literal(self.offset, value)


def expanded(
    offset: int, function: str, target: Node | None, arguments: list[Node], *, binds: bool = False
) -> Node | None:
    """Return the tree to which a macro expands; None if the call is not a macro. `binds` enables `cel.bind`.

    Raises:
        MacroError: An argument is invalid.
    """
    if binds and function == "bind" and len(arguments) == 3 and isinstance(target, Identifier) and target.name == "cel":
        name = _variable(arguments[0], "cel.bind() variable names must be simple identifiers")
        return _bound(_Use(offset, target, arguments), name, *arguments[1:])
    make = _MACROS.get((function, len(arguments), target is not None))
    return None if make is None else make(_Use(offset, target, arguments))


def _has(use: _Use) -> Node:
    argument = use.arguments[0]
    if isinstance(argument, Select) and not argument.tests and not argument.optional:
        return Select(use.offset, argument.operand, argument.field, tests=True)
    raise MacroError(argument.offset, "invalid argument to has() macro")


def _loop(use: _Use, form: ComprehensionForm, wording: str = "argument must be a simple name") -> Comprehension:
    """Return a loop of one variable, without its body."""
    variable = _variable(use.arguments[0], wording)
    if variable in _ILLEGAL:
        raise MacroError(use.arguments[0].offset, "iteration variable overwrites accumulator variable")
    assert use.target is not None
    return Comprehension(use.offset, use.target, variable, None, form)


def _loop_of_two(use: _Use, form: ComprehensionForm) -> Comprehension:
    """Return a loop of two variables, without its body."""
    first, second = (_variable(argument, "argument must be a simple name") for argument in use.arguments[:2])
    if first == second:
        raise MacroError(use.arguments[1].offset, f"duplicate variable name: {first}")
    for name, argument in zip((first, second), use.arguments, strict=False):
        if name in _ILLEGAL:
            raise MacroError(argument.offset, "iteration variable overwrites accumulator variable")
    assert use.target is not None
    return Comprehension(use.offset, use.target, first, second, form)


def _variable(node: Node, wording: str) -> str:
    if isinstance(node, Identifier):
        return node.name
    raise MacroError(node.offset, wording)


def _all(use: _Use, loop: Comprehension) -> Node:
    test = use.arguments[-1]
    loop.init, loop.transform = use.literal(True), test
    loop.condition = use.call("@not_strictly_false", use.name())
    loop.step, loop.result = use.call("_&&_", use.name(), test), use.name()
    return loop


def _exists(use: _Use, loop: Comprehension) -> Node:
    test = use.arguments[-1]
    loop.init, loop.transform = use.literal(False), test
    loop.condition = use.call("@not_strictly_false", use.call("!_", use.name()))
    loop.step, loop.result = use.call("_||_", use.name(), test), use.name()
    return loop


def _exists_one(use: _Use, loop: Comprehension) -> Node:
    test = use.arguments[-1]
    loop.init, loop.condition, loop.transform = use.literal(0), use.literal(True), test
    counted = use.call("_+_", use.name(), use.literal(1))
    loop.step = use.call("_?_:_", test, counted, use.name())
    loop.result = use.call("_==_", use.name(), use.literal(1))
    return loop


def _collect(use: _Use, loop: Comprehension, keep: Node | None, made: Node) -> Node:
    """Complete a loop that makes a list."""
    loop.init, loop.condition = ListLiteral(use.offset, []), use.literal(True)
    step = use.call("_+_", use.name(), ListLiteral(use.offset, [made]))
    return _filtered(use, loop, keep, made, step)


def _filtered(use: _Use, loop: Comprehension, keep: Node | None, made: Node, step: Node) -> Node:
    loop.filter, loop.transform, loop.result = keep, made, use.name()
    loop.step = step if keep is None else use.call("_?_:_", keep, step, use.name())
    return loop


def _map(use: _Use) -> Node:
    loop = _loop(use, ComprehensionForm.LIST, "argument is not an identifier")
    keep = use.arguments[1] if len(use.arguments) == 3 else None
    return _collect(use, loop, keep, use.arguments[-1])


def _filter(use: _Use) -> Node:
    loop = _loop(use, ComprehensionForm.LIST, "argument is not an identifier")
    return _collect(use, loop, use.arguments[1], use.arguments[0])


def _transform_list(use: _Use) -> Node:
    keep = use.arguments[2] if len(use.arguments) == 4 else None
    return _collect(use, _loop_of_two(use, ComprehensionForm.LIST), keep, use.arguments[-1])


def _transform_map(use: _Use) -> Node:
    loop = _loop_of_two(use, ComprehensionForm.MAP)
    inserted = use.call("cel.@mapInsert", use.name(), use.name(loop.variable), use.arguments[-1])
    return _into_map(use, loop, inserted)


def _transform_map_entry(use: _Use) -> Node:
    return _into_map(
        use, _loop_of_two(use, ComprehensionForm.MAP), use.call("cel.@mapInsert", use.name(), use.arguments[-1])
    )


def _into_map(use: _Use, loop: Comprehension, inserted: Call) -> Node:
    loop.init, loop.condition = MapLiteral(use.offset, []), use.literal(True)
    keep = use.arguments[2] if len(use.arguments) == 4 else None
    return _filtered(use, loop, keep, inserted, inserted)


def _bound(use: _Use, name: str, value: Node, result: Node) -> Comprehension:
    """Return an expression with a name for a value: a loop over nothing."""
    bound = Comprehension(use.offset, ListLiteral(use.offset, []), "#unused", None, ComprehensionForm.BIND)
    bound.accumulator, bound.init, bound.result = name, value, result
    bound.condition, bound.step = use.literal(False), use.name(name)
    return bound


def _optional(function: str, wrapped: bool) -> Callable[[_Use], Node]:
    def make(use: _Use) -> Node:
        name = _variable(use.arguments[0], f"{function}() variable name must be a simple identifier")
        value = use.call("value", target=copy.deepcopy(use.target))
        made: Node = _bound(use, name, value, use.arguments[1])
        if wrapped:
            made = use.call("optional.of", made)
        return use.call("_?_:_", use.call("hasValue", target=use.target), made, use.call("optional.none"))

    return make


def _sort_by(use: _Use) -> Node:
    target = use.target
    if not isinstance(target, (ListLiteral, Select, Identifier, Comprehension, Call)):
        assert target is not None
        wording = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.offset, wording)
    keys = _map(use._replace(target=use.name(_SORTED)))
    ordered = use.call("@sortByAssociatedKeys", keys, target=use.name(_SORTED))
    return _bound(use, _SORTED, target, ordered)


_MACROS: dict[tuple[str, int, bool], Callable[[_Use], Node]] = {
    ("has", 1, False): _has,
    ("all", 2, True): lambda use: _all(use, _loop(use, ComprehensionForm.ALL)),
    ("all", 3, True): lambda use: _all(use, _loop_of_two(use, ComprehensionForm.ALL)),
    ("exists", 2, True): lambda use: _exists(use, _loop(use, ComprehensionForm.EXISTS)),
    ("exists", 3, True): lambda use: _exists(use, _loop_of_two(use, ComprehensionForm.EXISTS)),
    ("exists_one", 2, True): lambda use: _exists_one(use, _loop(use, ComprehensionForm.EXISTS_ONE)),
    ("exists_one", 3, True): lambda use: _exists_one(use, _loop_of_two(use, ComprehensionForm.EXISTS_ONE)),
    ("existsOne", 2, True): lambda use: _exists_one(use, _loop(use, ComprehensionForm.EXISTS_ONE)),
    ("existsOne", 3, True): lambda use: _exists_one(use, _loop_of_two(use, ComprehensionForm.EXISTS_ONE)),
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map,
    ("transformMap", 4, True): _transform_map,
    ("transformMapEntry", 3, True): _transform_map_entry,
    ("transformMapEntry", 4, True): _transform_map_entry,
    ("optMap", 2, True): _optional("optMap", wrapped=True),
    ("optFlatMap", 2, True): _optional("optFlatMap", wrapped=False),
    ("sortBy", 2, True): _sort_by,
}
