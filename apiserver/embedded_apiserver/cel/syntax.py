# SPDX-License-Identifier: Apache-2.0
"""The tree of an expression, which the parser makes and the checker completes."""

from __future__ import annotations

import enum

from embedded_apiserver.cel.declarations import Overload
from embedded_apiserver.cel.types import DYN, Type
from embedded_apiserver.cel.values import Value


class Node:
    """A node of an expression's tree.

    Attributes:
        offset: The offset, in characters, to which error messages about the node point.
        type: The type found by the type checker.
    """

    __slots__ = ("offset", "type")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.type: Type = DYN


class Literal(Node):
    """A literal. The name of a type is an `Identifier`, which the compiler turns into a constant."""

    __slots__ = ("value",)

    def __init__(self, offset: int, value: Value) -> None:
        super().__init__(offset)
        self.value = value


class Identifier(Node):
    """A variable. The name includes a leading dot, if there is one."""

    __slots__ = ("name",)

    def __init__(self, offset: int, name: str) -> None:
        super().__init__(offset)
        self.name = name


class Select(Node):
    """A field selection: `operand.field`; with `tests` `has(operand.field)`, and with `optional` `operand.?field`.

    Attributes:
        property: The name of the field in JSON, set by the type checker for objects; None for maps.
        name: The name of the variable if the whole chain of selections is a qualified name; otherwise None.
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
    """A call of a function, method or operator.

    Attributes:
        overloads: The overloads that accept the types of the arguments, set by the type checker.
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
        """The receiver, if there is one, followed by the arguments."""
        return self.arguments if self.target is None else [self.target, *self.arguments]


class ListLiteral(Node):
    """A list literal such as `[a, ?b]`; `optional` has the indexes of the elements with a question mark."""

    __slots__ = ("elements", "optional")

    def __init__(self, offset: int, elements: list[Node], optional: frozenset[int] = frozenset()) -> None:
        super().__init__(offset)
        self.elements = elements
        self.optional = optional


class MapEntry:
    """An entry of a map literal."""

    __slots__ = ("key", "offset", "optional", "value")

    def __init__(self, offset: int, key: Node, value: Node, optional: bool) -> None:
        self.offset = offset
        self.key = key
        self.value = value
        self.optional = optional


class MapLiteral(Node):
    """A map literal such as `{key: value}`."""

    __slots__ = ("entries",)

    def __init__(self, offset: int, entries: list[MapEntry]) -> None:
        super().__init__(offset)
        self.entries = entries


class StructureField:
    """A field of an object literal; the type checker sets `property`, its name in JSON."""

    __slots__ = ("name", "offset", "optional", "property", "value")

    def __init__(self, offset: int, name: str, value: Node, optional: bool) -> None:
        self.offset = offset
        self.name = name
        self.value = value
        self.optional = optional
        self.property = name


class StructureLiteral(Node):
    """An object literal such as `Name{field: value}`."""

    __slots__ = ("fields", "name")

    def __init__(self, offset: int, name: str, fields: list[StructureField]) -> None:
        super().__init__(offset)
        self.name = name
        self.fields = fields


class ComprehensionForm(enum.Enum):
    """The form of a comprehension; each form is compiled to a different loop."""

    ALL = enum.auto()
    EXISTS = enum.auto()
    EXISTS_ONE = enum.auto()
    LIST = enum.auto()
    MAP = enum.auto()
    BIND = enum.auto()


class Comprehension(Node):
    """A loop over a list or map, to which macros expand: `accumulator = step` for each element, while the condition
    holds.

    Attributes:
        form: The form of the loop. Its code is made from `over`, `filter` and `transform`, and for `BIND` from `init`
            and `result`; the other parts are for the type checker and the cost estimate.
        filter: The condition for elements to be transformed; None for all elements.
        transform: The test of each element, or its transformed value.
    """

    __slots__ = (
        "accumulator", "condition", "filter", "form", "init", "over", "result", "second", "step", "transform",
        "variable",
    )  # fmt: skip

    def __init__(self, offset: int, over: Node, variable: str, second: str | None, form: ComprehensionForm) -> None:
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
    """Return calls of a binary function that combine many terms, as a balanced tree."""
    middle = (low + high + 1) // 2
    left = terms[middle] if middle == low else balanced(function, terms, places, low, middle - 1)
    right = terms[middle + 1] if middle == high else balanced(function, terms, places, middle + 1, high)
    return Call(places[middle], function, [left, right])
