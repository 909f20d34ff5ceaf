# SPDX-License-Identifier: Apache-2.0
"""The functions and types of the language itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from embedded_apiserver.cel import conversions, costs, numbers, times, types, work
from embedded_apiserver.cel.declarations import Function, Overload
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.operators import OPERATORS
from embedded_apiserver.cel.optionals import OPTIONALS
from embedded_apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
)
from embedded_apiserver.cel.values import Duration, Value, type_of
from embedded_apiserver.patterns import NoPattern, compiled

_A = types.parameter("A")
_B = types.parameter("B")
_MAP = types.map_of(_A, _B)

TYPE_NAMES: dict[str, Type] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "int": INT,
    "uint": UINT,
    "string": STRING,
    "null_type": types.NULL,
    "list": types.list_of(DYN),
    "map": types.map_of(DYN, DYN),
    "type": types.TYPE,
    "dyn": DYN,
    "optional_type": types.optional_of(DYN),
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": DURATION,
}
"""The names of types that expressions may use as values."""


def matches(text: str, pattern: str) -> bool:
    """Return whether a regular expression matches anywhere in a text.

    Raises:
        EvaluationError: The pattern is invalid.
    """
    try:
        return compiled(pattern).matches(text)
    except NoPattern as error:
        raise EvaluationError(str(error)) from None


def _same(value: Value) -> Value:
    return value


def _sizes() -> Iterable[Overload]:
    for name, of in (("bytes", BYTES), ("list", types.list_of(_A)), ("map", _MAP), ("string", STRING)):
        yield Overload(f"size_{name}", (of,), INT, len, work=work.free)
        yield Overload(f"{name}_size", (of,), INT, len, member=True, work=work.free)


def _converted(name: str, to: Type, *sources: tuple[str, Type, Callable[..., Value]], same: str) -> Function:
    return Function(
        name,
        (
            Overload(same, (to,), to, _same),
            *(Overload(overload, (of,), to, call) for overload, of, call in sources),
        ),
    )


def _dates() -> Iterable[Function]:
    ids = {
        "getFullYear": "year", "getMonth": "month", "getDayOfYear": "day_of_year", "getDayOfMonth": "day_of_month",
        "getDate": "day_of_month_1_based", "getDayOfWeek": "day_of_week", "getHours": "hours", "getMinutes": "minutes",
        "getSeconds": "seconds", "getMilliseconds": "milliseconds",
    }  # fmt: skip
    spans: dict[str, Callable[[Duration], int]] = {
        "getHours": times.hours_of,
        "getMinutes": times.minutes_of,
        "getSeconds": times.seconds_of,
        "getMilliseconds": times.milliseconds_of,
    }
    for name, part in ids.items():
        read = times.part_of(name)
        overloads = [
            Overload(f"timestamp_to_{part}", (TIMESTAMP,), INT, read, member=True),
            Overload(f"timestamp_to_{part}_with_tz", (TIMESTAMP, STRING), INT, read, member=True),
        ]
        if name in spans:
            overloads.append(Overload(f"duration_to_{part}", (DURATION,), INT, spans[name], member=True))
        yield Function(name, tuple(overloads))


_STRING_TO_BYTES = Overload(
    "string_to_bytes", (STRING,), BYTES, str.encode, cost=costs.reads_first, estimate=costs.estimated_bytes,
    work=work.copying,
)  # fmt: skip
_BYTES_TO_STRING = Overload(
    "bytes_to_string", (BYTES,), STRING, conversions.text_of_bytes, cost=costs.reads_first,
    estimate=costs.estimated_text, work=work.copying,
)  # fmt: skip
_TEXTS = Function(
    "string",
    (
        Overload("string_to_string", (STRING,), STRING, _same, work=work.free),
        Overload("bool_to_string", (BOOL,), STRING, conversions.text_of_bool),
        _BYTES_TO_STRING,
        Overload("double_to_string", (DOUBLE,), STRING, conversions.text_of_number),
        Overload("duration_to_string", (DURATION,), STRING, times.text_of_duration),
        Overload("int64_to_string", (INT,), STRING, conversions.text_of_number),
        Overload("timestamp_to_string", (TIMESTAMP,), STRING, times.text_of_timestamp),
        Overload("uint64_to_string", (UINT,), STRING, conversions.text_of_number),
    ),
)
_MATCHES = Function(
    "matches",
    (
        Overload("matches", (STRING, STRING), BOOL, matches, work=work.matching),
        Overload(
            "matches_string", (STRING, STRING), BOOL, matches, member=True, cost=costs.matches,
            estimate=costs.estimated_match, work=work.matching,
        ),
    ),
)  # fmt: skip


def _of_texts(
    name: str, overload: str, call: Callable[..., Value], cost: costs.Cost, estimate: costs.Estimate, count: work.Work
) -> Function:
    made = Overload(overload, (STRING, STRING), BOOL, call, member=True, cost=cost, estimate=estimate, work=count)
    return Function(name, (made,))


def _contains(text: str, part: str) -> bool:
    return part in text


_FUNCTIONS: tuple[Function, ...] = (
    *OPERATORS,
    *OPTIONALS,
    Function("size", tuple(_sizes())),
    Function("type", (Overload("type", (_A,), types.type_of_type(_A), type_of),)),
    Function("dyn", (Overload("to_dyn", (_A,), DYN, _same),)),
    _converted("bool", BOOL, ("string_to_bool", STRING, conversions.bool_of), same="bool_to_bool"),
    Function("bytes", (Overload("bytes_to_bytes", (BYTES,), BYTES, _same), _STRING_TO_BYTES)),
    _converted(
        "double",
        DOUBLE,
        ("int64_to_double", INT, float),
        ("string_to_double", STRING, conversions.double_of),
        ("uint64_to_double", UINT, float),
        same="double_to_double",
    ),
    _converted(
        "duration",
        DURATION,
        ("int64_to_duration", INT, Duration),
        ("string_to_duration", STRING, times.duration),
        same="duration_to_duration",
    ),
    _converted(
        "int",
        INT,
        ("double_to_int64", DOUBLE, numbers.whole),
        ("duration_to_int64", DURATION, conversions.nanoseconds),
        ("string_to_int64", STRING, conversions.int_of),
        ("timestamp_to_int64", TIMESTAMP, conversions.seconds_since_epoch),
        ("uint64_to_int64", UINT, conversions.int_from_uint),
        same="int64_to_int64",
    ),
    _TEXTS,
    _converted(
        "timestamp",
        TIMESTAMP,
        ("int64_to_timestamp", INT, conversions.timestamp_of),
        ("string_to_timestamp", STRING, times.timestamp),
        same="timestamp_to_timestamp",
    ),
    _converted(
        "uint",
        UINT,
        ("double_to_uint64", DOUBLE, numbers.unsigned_whole),
        ("int64_to_uint64", INT, conversions.uint_from_int),
        ("string_to_uint64", STRING, conversions.uint_of),
        same="uint64_to_uint64",
    ),
    _of_texts(
        "contains", "contains_string", _contains, costs.searches_text, costs.estimated_text_search, work.searching
    ),
    _of_texts(
        "endsWith", "ends_with_string", str.endswith, costs.reads_first, costs.estimated_reading(1), work.comparing
    ),
    _of_texts(
        "startsWith",
        "starts_with_string",
        str.startswith,
        costs.reads_first,
        costs.estimated_reading(1),
        work.comparing,
    ),
    _MATCHES,
    *_dates(),
    Function(
        "cel.@mapInsert",
        (
            Overload("@mapInsert_map_key_value", (_MAP, _A, _B), _MAP, lambda m, k, v: inserted(m, {k: v})),
            Overload("@mapInsert_map_map", (_MAP, _MAP), _MAP, lambda m, other: inserted(m, other)),
        ),
    ),
)


def inserted(into: dict[Value, Value], more: dict[Value, Value]) -> dict[Value, Value]:
    """Return a map with further entries.

    Raises:
        EvaluationError: A key exists already.
    """
    for key in more:
        if key in into:
            raise EvaluationError(f"insert failed: key {key} already exists")
    return {**into, **more}


def _by_name() -> dict[str, tuple[Overload, ...]]:
    found: dict[str, tuple[Overload, ...]] = {}
    for function in _FUNCTIONS:
        found[function.name] = (*found.get(function.name, ()), *function.overloads)
    return found


STANDARD = _by_name()
"""The overloads of the functions of the language, by name."""
