# SPDX-License-Identifier: Apache-2.0
"""The types of expressions, and how they are printed."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import attrs


class Kind(enum.Enum):
    """The kind of a type: a basic type, list, map, object, opaque type, or a type parameter."""

    BOOL = enum.auto()
    BYTES = enum.auto()
    DOUBLE = enum.auto()
    DURATION = enum.auto()
    DYN = enum.auto()
    ERROR = enum.auto()
    INT = enum.auto()
    LIST = enum.auto()
    MAP = enum.auto()
    NULL = enum.auto()
    OBJECT = enum.auto()
    OPAQUE = enum.auto()
    PARAMETER = enum.auto()
    STRING = enum.auto()
    TIMESTAMP = enum.auto()
    TYPE = enum.auto()
    UINT = enum.auto()


@attrs.frozen
class Field:
    """One field of an object type.

    Attributes:
        type: The type of the field.
        property: The name of the field in JSON; the key in `Type.fields` is the escaped name for expressions.
    """

    type: Type
    property: str


@attrs.frozen
class Type:
    """The type of an expression. Types are equal if kind, name and parameters are equal.

    Attributes:
        kind: The kind of the type.
        name: The name of the type in messages.
        parameters: The type of a list's elements, of a map's keys and values, or the parameters of an opaque type.
        fields: The fields of an object type by their names in expressions; None for other types.
        size: The maximum number of elements, entries, characters or bytes, for the static cost estimate; None counts as
            0.
    """

    kind: Kind
    name: str
    parameters: tuple[Type, ...] = ()
    fields: Mapping[str, Field] | None = attrs.field(default=None, eq=False, repr=False)
    size: int | None = attrs.field(default=None, eq=False)

    def __str__(self) -> str:
        """Return the type as error messages print it."""
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(str(parameter) for parameter in self.parameters)})"

    def sized(self, size: int) -> Type:
        """Return the type with `size` as the maximum number of elements, entries, characters or bytes."""
        return attrs.evolve(self, size=size)

    def field(self, name: str) -> Field | None:
        """Return a field of an object type by its name in expressions; None if there is none."""
        return None if self.fields is None else self.fields.get(name)


BOOL = Type(Kind.BOOL, "bool")
BYTES = Type(Kind.BYTES, "bytes")
DOUBLE = Type(Kind.DOUBLE, "double")
DURATION = Type(Kind.DURATION, "duration")
DYN = Type(Kind.DYN, "dyn")
ANY = Type(Kind.DYN, "any")
"""The type of values of which nothing is declared: attributes of devices."""
ERROR = Type(Kind.ERROR, "!error!")
INT = Type(Kind.INT, "int")
NULL = Type(Kind.NULL, "null")
STRING = Type(Kind.STRING, "string")
TIMESTAMP = Type(Kind.TIMESTAMP, "timestamp")
UINT = Type(Kind.UINT, "uint")
TYPE = Type(Kind.TYPE, "type")

OPTIONAL_NAME = "optional_type"


def list_of(element: Type, size: int | None = None) -> Type:
    """Return the type of lists with these elements; `size` is the maximum number of elements."""
    return Type(Kind.LIST, "list", (element,), size=size)


def map_of(key: Type, value: Type, size: int | None = None) -> Type:
    """Return the type of maps with these keys and values; `size` is the maximum number of entries."""
    return Type(Kind.MAP, "map", (key, value), size=size)


def object_of(name: str, fields: Mapping[str, Field]) -> Type:
    """Return an object type. Its values are JSON objects that have only the declared fields."""
    return Type(Kind.OBJECT, name, fields=fields)


def opaque(name: str, *parameters: Type) -> Type:
    """Return an opaque type, whose values only functions can create and read, such as `kubernetes.Quantity`."""
    return Type(Kind.OPAQUE, name, parameters)


def optional_of(value: Type) -> Type:
    """Return the type of optionals with a value of this type."""
    return opaque(OPTIONAL_NAME, value)


def type_of_type(of: Type) -> Type:
    """Return the type of a type name that an expression uses as a value."""
    return Type(Kind.TYPE, "type", (of,))


def parameter(name: str) -> Type:
    """Return a type parameter of an overload, such as the `T` of `list(T)`."""
    return Type(Kind.PARAMETER, name)
