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
    """An unsigned integer."""

    __slots__ = ()


class Duration:
    """A span of time.

    Attributes:
        nanoseconds: Its length, negative for a span into the past.
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
    """A point in time.

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
    """A value that may be absent.

    Attributes:
        present: Whether there is a value.
        value: The value, if there is one.
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
    """The base of the values of opaque types, which are equal as their `__eq__` says.

    Attributes:
        type: The type; a class attribute.
    """

    __slots__ = ()
    type: Type


class Lists(list[Any]):
    """The base of lists that are compared and joined by rules of their own, such as sets.

    A function that returns a plain list from such a list is free to do so.

    Attributes:
        is_pairwise: Whether a comparison looks at each element for each element.
    """

    __slots__ = ()
    is_pairwise = False

    def equals(self, other: Value) -> bool:
        """Return whether a value is equal."""
        raise NotImplementedError

    def plus(self, other: list[Value]) -> list[Value]:
        """Return this list joined with another."""
        raise NotImplementedError


def type_of(value: Value) -> Type:
    """Return the type of a value; lists and maps have elements of any type, JSON objects are maps."""
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
    """A value of an object type that an expression made, as `Object{spec: Object.spec{replicas: 1}}` does."""

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
