# SPDX-License-Identifier: Apache-2.0
"""Functions of optional values."""

from __future__ import annotations

from embedded_apiserver.cel import types, work
from embedded_apiserver.cel.declarations import Function, Overload
from embedded_apiserver.cel.equality import found_key
from embedded_apiserver.cel.errors import EvaluationError, no_such_overload
from embedded_apiserver.cel.types import BOOL, DYN, INT, STRING
from embedded_apiserver.cel.values import NONE, Duration, Optional, Value

_V = types.parameter("V")
_K = types.parameter("K")
_OPTIONAL = types.optional_of(_V)
_LIST = types.list_of(_V)
_MAP = types.map_of(_K, _V)


def is_zero(value: Value) -> bool:
    """Return whether a value is the zero value of its type, such as 0 or an empty list."""
    if isinstance(value, Optional):
        return not value.present
    if isinstance(value, Duration):
        return value.nanoseconds == 0
    if isinstance(value, (str, bytes, list, dict, int, float)) or value is None:
        return not value
    return False


def of_nonzero(value: Value) -> Optional:
    """Return an optional with this value; an absent one if the value is the zero value of its type."""
    return NONE if is_zero(value) else Optional(True, value)


def held(value: Optional) -> Value:
    """Return the value in an optional.

    Raises:
        EvaluationError: The optional is absent.
    """
    if not value.present:
        raise EvaluationError("optional.none() dereference")
    return value.value


def selected(operand: Value, field: str) -> Optional:
    """Return a field of a map or object, or of an optional one, as an optional. It is absent if the field is
    missing.
    """
    if isinstance(operand, Optional):
        return selected(operand.value, field) if operand.present else NONE
    return Optional(True, operand[field]) if isinstance(operand, dict) and field in operand else NONE


def indexed(operand: Value, index: Value) -> Optional:
    """Return an element of a list or map, or of an optional one, as an optional; absent if the element is missing.

    Raises:
        EvaluationError: The operand has no elements, or the index has a wrong type.
    """
    if isinstance(operand, Optional):
        return indexed(operand.value, index) if operand.present else NONE
    if isinstance(operand, list):
        place = list_place(index)
        return Optional(True, operand[place]) if 0 <= place < len(operand) else NONE
    if not isinstance(operand, dict):
        raise no_such_overload()
    if type(index) is str:
        return Optional(True, operand[index]) if index in operand else NONE
    key = found_key(index, operand)
    return NONE if key is None else Optional(True, operand[key])


def list_place(index: Value) -> int:
    """Return a list index as an integer; a floating-point number must be whole.

    Raises:
        EvaluationError: The value cannot be an index.
    """
    if type(index) is bool or not isinstance(index, (int, float)):
        raise EvaluationError(f"unsupported index type '{types.STRING if type(index) is str else 'dyn'}' in list")
    if isinstance(index, float) and not index.is_integer():
        raise EvaluationError(f"unsupported index value {index} in list")
    return int(index)


def unwrapped(values: list[Value]) -> list[Value]:
    """Return the values in those optionals of a list that are present.

    Raises:
        EvaluationError: An element is not an optional.
    """
    for value in values:
        if not isinstance(value, Optional):
            raise EvaluationError(f"value {value} is not optional")
    return [value.value for value in values if value.present]


def _first(values: list[Value]) -> Optional:
    return Optional(True, values[0]) if values else NONE


def _last(values: list[Value]) -> Optional:
    return Optional(True, values[-1]) if values else NONE


def _or(one: Optional, other: Optional) -> Optional:
    return one if one.present else other


def _or_value(one: Optional, other: Value) -> Value:
    return one.value if one.present else other


OPTIONALS = (
    Function("optional.of", (Overload("optional_of", (_V,), _OPTIONAL, lambda value: Optional(True, value)),)),
    Function("optional.ofNonZeroValue", (Overload("optional_ofNonZeroValue", (_V,), _OPTIONAL, of_nonzero),)),
    Function("optional.none", (Overload("optional_none", (), _OPTIONAL, lambda: NONE),)),
    Function("value", (Overload("optional_value", (_OPTIONAL,), _V, held, member=True),)),
    Function("hasValue", (Overload("optional_hasValue", (_OPTIONAL,), BOOL, lambda v: v.present, member=True),)),
    Function("or", (Overload("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, _or, member=True),)),
    Function("orValue", (Overload("optional_orValue_value", (_OPTIONAL, _V), _V, _or_value, member=True),)),
    Function("_?._", (Overload("select_optional_field", (DYN, STRING), _OPTIONAL, selected, work=work.free),)),
    Function(
        "_[?_]",
        (
            Overload("list_optindex_optional_int", (_LIST, INT), _OPTIONAL, indexed, work=work.free),
            Overload(
                "optional_list_optindex_optional_int",
                (types.optional_of(_LIST), INT),
                _OPTIONAL,
                indexed,
                work=work.free,
            ),
            Overload("map_optindex_optional_value", (_MAP, _K), _OPTIONAL, indexed, work=work.free),
            Overload(
                "optional_map_optindex_optional_value",
                (types.optional_of(_MAP), _K),
                _OPTIONAL,
                indexed,
                work=work.free,
            ),
        ),
    ),
    Function(
        "_[_]",
        (
            Overload("optional_list_index_int", (types.optional_of(_LIST), INT), _OPTIONAL, indexed, work=work.free),
            Overload("optional_map_index_value", (types.optional_of(_MAP), _K), _OPTIONAL, indexed, work=work.free),
        ),
    ),
    Function("last", (Overload("list_last", (_LIST,), _OPTIONAL, _last, member=True, work=work.free),)),
    Function("first", (Overload("list_first", (_LIST,), _OPTIONAL, _first, member=True, work=work.free),)),
    Function("optional.unwrap", (Overload("optional_unwrap", (types.list_of(_OPTIONAL),), _LIST, unwrapped),)),
    Function(
        "unwrapOpt", (Overload("optional_unwrapOpt", (types.list_of(_OPTIONAL),), _LIST, unwrapped, member=True),)
    ),
)
"""The functions; `or` and `orValue` are compiled so that the second operand is only evaluated if it is needed."""
