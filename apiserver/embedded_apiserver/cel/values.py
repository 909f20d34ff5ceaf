# SPDX-License-Identifier: Apache-2.0
"""The values of expressions, which are those of JSON as Python has them, and a few more.

| type | in Python |
| --- | --- |
| null, bool, int, double, string, bytes | `None`, `bool`, `int`, `float`, `str`, `bytes` |
| uint | `Uint` |
| list, map, objects | `list`, `dict` (a caller's own are read and never modified) |
| duration, timestamp | `Duration`, `Timestamp` |
| optional | `Optional` |
| type | `types.Type` |
| opaque types | subclasses of `Opaque` |
"""

from __future__ import annotations

from typing import Any, TypeAlias

from embedded_apiserver.cel import types
from embedded_apiserver.cel.types import Type

Value: TypeAlias = Any
"""A value of an expression, see the module's table; `Any` since JSON is."""


class Uint(int):
    """An unsigned integer of CEL."""

    __slots__ = ()


class Duration:
    """A duration of CEL.

    Attributes:
        nanoseconds: The length in nanoseconds, which may be negative.
    """

    __slots__ = ("nanoseconds",)

    def __init__(self, nanoseconds: int) -> None:
        self.nanoseconds = nanoseconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash((Duration, self.nanoseconds))

    def __repr__(self) -> str:
        return f"Duration({self.nanoseconds})"


class Timestamp:
    """A point in time of CEL.

    Attributes:
        nanoseconds: The nanoseconds since 1970-01-01T00:00:00Z.
    """

    __slots__ = ("nanoseconds",)

    def __init__(self, nanoseconds: int) -> None:
        self.nanoseconds = nanoseconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash((Timestamp, self.nanoseconds))

    def __repr__(self) -> str:
        return f"Timestamp({self.nanoseconds})"


class Optional:
    """An optional of CEL: a value that may be absent.

    Attributes:
        present: True if there is a value.
        value: The value; None if absent.
    """

    __slots__ = ("present", "value")

    def __init__(self, present: bool, value: Value = None) -> None:
        self.present = present
        self.value = value

    def __repr__(self) -> str:
        return f"Optional({self.value!r})" if self.present else "Optional.none"


NONE = Optional(False)
"""The absent value."""


class Opaque:
    """The base class of values of opaque types; `__eq__` defines their equality.

    Attributes:
        type: The CEL type, a class attribute.
    """

    __slots__ = ()
    type: Type


class Lists(list[Any]):
    """The base class of lists with special rules for comparison and concatenation, such as sets.

    A function of such a list may return a plain list.

    Attributes:
        is_pairwise: True if a comparison compares each element with each element of the other list.
    """

    __slots__ = ()
    is_pairwise = False

    def equals(self, other: Value) -> bool:
        """Return whether this list is equal to another."""
        raise NotImplementedError

    def plus(self, other: list[Value]) -> list[Value]:
        """Return the concatenation of this list and another."""
        raise NotImplementedError


def type_of(value: Value) -> Type:
    """Return the CEL type of a value. Lists and maps have the element type `dyn`; JSON objects are maps."""
    found = _BY_CLASS.get(type(value))
    if found is not None:
        return found
    if isinstance(value, (Opaque, Structure)):
        return value.type
    for base, found in _BY_CLASS.items():
        if isinstance(value, base):
            return found
    return types.DYN


class Structure(dict[str, Any]):
    """A value of an object type that an expression constructs, such as `Object{spec: Object.spec{replicas: 1}}`."""

    __slots__ = ("type",)

    def __init__(self, made: Type, fields: dict[str, Value]) -> None:
        super().__init__(fields)
        self.type = made


_BY_CLASS: dict[type, Type] = {
    type(None): types.NULL,
    bool: types.BOOL,
    Uint: types.UINT,
    int: types.INT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    list: types.list_of(types.DYN),
    dict: types.map_of(types.DYN, types.DYN),
    Duration: types.DURATION,
    Timestamp: types.TIMESTAMP,
    Optional: types.optional_of(types.DYN),
    Type: types.TYPE,
}
