# SPDX-License-Identifier: Apache-2.0
"""The tree of an expression, which the parser makes and the checker completes."""

from __future__ import annotations

import enum

from embedded_apiserver.cel.declarations import Overload
from embedded_apiserver.cel.types import DYN, Type
from embedded_apiserver.cel.values import Value


class Node:
    """A part of an expression.

    Attributes:
        offset: Where errors about it point to, in characters from the start.
        type: The type that the checker found.
    """

    __slots__ = ("offset", "type")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.type: Type = DYN


class Literal(Node):
    """A literal; the checker makes literals of the names of types, too."""

    __slots__ = ("value",)

    def __init__(self, offset: int, value: Value) -> None:
        super().__init__(offset)
        self.value = value


class Identifier(Node):
    """A variable; a leading dot, if there is one, is part of the name."""

    __slots__ = ("name",)

    def __init__(self, offset: int, name: str) -> None:
        super().__init__(offset)
        self.name = name


class Select(Node):
    """`operand.field`; with `tests`, `has(operand.field)`; with `optional`, `operand.?field`.

    Attributes:
        property: The key in JSON, which the checker knows for objects; None for maps.
        name: The variable, if the whole chain is a qualified name.
    """

    __slots__ = ("field", "name", "operand", "optional", "property", "tests")

    def __init__(self, offset: int, operand: Node, field: str, tests: bool = False, optional: bool = False) -> None:
        super().__init__(offset)
        self.operand = operand
        self.field = field
        self.tests = tests
        self.optional = optional
        self.property: str | None = None
        self.name: str | None = None


class Call(Node):
    """A call of a function, a method or an operator.

    Attributes:
        overloads: The overloads that fit the types of the arguments, found by the checker.
    """

    __slots__ = ("arguments", "function", "overloads", "target")

    def __init__(self, offset: int, function: str, arguments: list[Node], target: Node | None = None) -> None:
        super().__init__(offset)
        self.function = function
        self.target = target
        self.arguments = arguments
        self.overloads: list[Overload] = []

    @property
    def operands(self) -> list[Node]:
        """The receiver, if there is one, and the arguments."""
        return self.arguments if self.target is None else [self.target, *self.arguments]


class ListLiteral(Node):
    """`[a, ?b]`; `optional` has the places of elements with a question mark."""

    __slots__ = ("elements", "optional")

    def __init__(self, offset: int, elements: list[Node], optional: frozenset[int] = frozenset()) -> None:
        super().__init__(offset)
        self.elements = elements
        self.optional = optional


class MapEntry:
    """An entry of a map."""

    __slots__ = ("key", "offset", "optional", "value")

    def __init__(self, offset: int, key: Node, value: Node, optional: bool) -> None:
        self.offset = offset
        self.key = key
        self.value = value
        self.optional = optional


class MapLiteral(Node):
    """`{key: value}`."""

    __slots__ = ("entries",)

    def __init__(self, offset: int, entries: list[MapEntry]) -> None:
        super().__init__(offset)
        self.entries = entries


class StructureField:
    """A field of an object that is made; the checker finds its property."""

    __slots__ = ("name", "offset", "optional", "property", "value")

    def __init__(self, offset: int, name: str, value: Node, optional: bool) -> None:
        self.offset = offset
        self.name = name
        self.value = value
        self.optional = optional
        self.property = name


class StructureLiteral(Node):
    """`Name{field: value}`."""

    __slots__ = ("fields", "name")

    def __init__(self, offset: int, name: str, fields: list[StructureField]) -> None:
        super().__init__(offset)
        self.name = name
        self.fields = fields


class Form(enum.Enum):
    """The way in which a comprehension runs; each is a separate loop."""

    ALL = enum.auto()
    EXISTS = enum.auto()
    EXISTS_ONE = enum.auto()
    LIST = enum.auto()
    MAP = enum.auto()
    BIND = enum.auto()


class Comprehension(Node):
    """A loop over a list or map, as macros make it: `accumulator = step` for each element, while the condition holds.

    Attributes:
        form: How it runs; the parts below are what a loop of this form needs of the tree.
        filter: The condition that elements must meet to be transformed; None for all.
        transform: The test of each element, or the value made of it.
    """

    __slots__ = (
        "accumulator", "condition", "filter", "form", "init", "over", "result", "second", "step", "transform",
        "variable",
    )  # fmt: skip

    def __init__(self, offset: int, over: Node, variable: str, second: str | None, form: Form) -> None:
        super().__init__(offset)
        self.over = over
        self.variable = variable
        self.second = second
        self.form = form
        self.accumulator = ACCUMULATOR
        self.init: Node = self
        self.condition: Node = self
        self.step: Node = self
        self.result: Node = self
        self.filter: Node | None = None
        self.transform: Node = self


ACCUMULATOR = "@result"
"""The accumulator of macros, which no expression can name."""


def balanced(function: str, terms: list[Node], places: list[int], low: int, high: int) -> Node:
    """Return calls of a function of two arguments for many, as a balanced tree."""
    middle = (low + high + 1) // 2
    left = terms[middle] if middle == low else balanced(function, terms, places, low, middle - 1)
    right = terms[middle + 1] if middle == high else balanced(function, terms, places, middle + 1, high)
    return Call(places[middle], function, [left, right])
