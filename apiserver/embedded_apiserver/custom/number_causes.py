# SPDX-License-Identifier: Apache-2.0
"""The validation errors of numbers by a schema. As in a real API server, bounds of whole numbers are truncated.

So `minimum: 0.5` of a `number` accepts a 0 that was sent without a fraction, and in an `integer` refuses each value.
"""

from __future__ import annotations

from collections.abc import Iterator

from embedded_apiserver.kinds.definition import Raw
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_values import plain
from embedded_apiserver.typed.paths import Path

NOWHERE = "<nil>"
"""The field name in the errors of combined schemas and of ranges of numbers, as on a real API server."""

_BITS = {"int32": 31}
_NEAR = 1e-9  # by which a quotient of floats may be off a whole number


def number_causes(schema: Raw, value: float, path: Path) -> Iterator[Cause]:
    """Return the validation errors of a number by the bounds and `multipleOf` of its schema, in a real API server's
    order.
    """
    if not _is_in_range(schema, value):
        yield _out_of_range(schema, "Checked", path)
    if "multipleOf" in schema:
        yield from _factor_causes(schema, value, path)
    for name, title in (("minimum", "Minimum boundary"), ("maximum", "Maximum boundary")):
        if name in schema:
            yield from _bound_causes(schema, name, title, value, path)


def _is_in_range(schema: Raw, value: float) -> bool:
    """Return whether a value, or a limit, is within the range of the schema's type."""
    if schema.get("type") != "integer":
        return True
    most = 1 << _BITS.get(schema.get("format", ""), 63)
    return float(value).is_integer() and -most <= value < most


def _out_of_range(schema: Raw, title: str, path: Path) -> Cause:
    format_ = f"with format {schema['format']}" if schema.get("format") in ("int32", "int64") else "(default format)"
    text = f"{title} value must be of type {schema['type']} {format_} in {path}"
    return Cause("FieldValueInvalid", f'Invalid value: "": {text}', NOWHERE)


def _cut(schema: Raw, limit: float, value: float) -> float:
    """Return a limit as it is compared with a value: without its fraction, if the value is a whole number."""
    return int(limit) if type(value) is int and _is_in_range(schema, limit) else limit


def _factor_causes(schema: Raw, value: float, path: Path) -> Iterator[Cause]:
    if not _is_in_range(schema, schema["multipleOf"]):
        yield _out_of_range(schema, "MultipleOf", path)
    factor = _cut(schema, schema["multipleOf"], value)
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {plain(factor)}"
        yield Cause("FieldValueInvalid", f"Invalid value: {plain(factor)}: {text}", str(path))
    elif not _is_multiple(value, factor):
        yield _fault(path, value, f"should be a multiple of {plain(factor)}")


def _is_multiple(value: float, factor: float) -> bool:
    if type(value) is int and type(factor) is int:
        return value % factor == 0
    quotient = 1 / factor * value if factor < 1 else value / factor
    # Quotients of floats are rarely whole: 0.3 counts as a multiple of 0.1.
    return abs(quotient - round(quotient)) < _NEAR


def _bound_causes(schema: Raw, name: str, title: str, value: float, path: Path) -> Iterator[Cause]:
    if not _is_in_range(schema, schema[name]):
        yield _out_of_range(schema, title, path)
    limit = _cut(schema, schema[name], value)
    is_low = name == "minimum"
    excludes = bool(schema.get("exclusiveMinimum" if is_low else "exclusiveMaximum"))
    distance = value - limit if is_low else limit - value
    if distance < 0 or (excludes and distance == 0):
        words = "greater than" if is_low else "less than"
        yield _fault(path, value, f"should be {words}{'' if excludes else ' or equal to'} {plain(limit)}")


def _fault(path: Path, value: float, text: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {plain(value)}: {path} in body {text}", str(path))
