# SPDX-License-Identifier: Apache-2.0
"""The columns of custom kinds, which their definitions name."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from controller_runtime.apiserver.kinds.definition import Definition, Raw
from controller_runtime.apiserver.reads.ages import age
from controller_runtime.apiserver.reads.columns import NAME, Cell, Column
from controller_runtime.apiserver.reads.jsonpath import JSONPath

_AGE: Raw = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "Since creation."}


def custom_columns(definition: Definition) -> tuple[Column, ...]:
    """Return the name and the columns of a definition; the name and the age if the definition has no columns."""
    return (NAME, *map(_column, definition.columns or (_AGE,)))


def _column(column: Raw) -> Column:
    path = column["jsonPath"]
    return Column(
        column["name"],
        _cell(path, column["type"]),
        column.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
        is_wide=column.get("priority", 0) > 0,
        format=column.get("format", ""),
        type=column["type"],
    )


def _cell(path: str, type_: str) -> Cell:
    try:
        compiled = JSONPath(path)
    except ValueError:  # a real server accepts such a definition, too, and leaves the cells empty
        return lambda obj, now: None
    return lambda obj, now: _shown(compiled.first(obj), type_, now)


def _shown(value: Any, type_: str, now: datetime) -> str | int | float | bool | None:
    """Return the cell of a value in a column of a type; None, that is, an empty cell, if the value has another type."""
    match type_, value:
        case _, None:
            return None
        case "string", str():
            return value
        case "string", _:
            return msgspec.json.encode(value).decode()
        case "date", str():
            return _age(value, now)
        case "boolean", bool():
            return value
        case "integer", int() | float() if not isinstance(value, bool):
            return int(value)
        case "number", int() | float() if not isinstance(value, bool):
            return value
    return None


def _age(time: str, now: datetime) -> str:
    try:
        return age(time, now)
    except (ValueError, TypeError):  # not a time, or a time without a zone
        return "<invalid>"
