# SPDX-License-Identifier: Apache-2.0
"""The columns of custom kinds, which their definitions name."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from embedded_apiserver.kinds.ages import age
from embedded_apiserver.kinds.cells import NAME, Cell
from embedded_apiserver.kinds.definition import Definition, Raw
from embedded_apiserver.reads.columns import Column, recorded
from embedded_apiserver.reads.jsonpath import JSONPath

_LEASE = "coordination.k8s.io/v1", "Lease"  # has the columns that a custom kind has, too


def custom_columns(definition: Definition) -> tuple[Column, ...]:
    """Return the name and the columns of a definition; the name and the age if the definition has no columns."""
    columns = definition.columns or (_age_column(),)
    return (Column(recorded(*_LEASE, "Name"), NAME), *map(_column, columns))


def _age_column() -> Raw:
    described = recorded(*_LEASE, "Age")["description"]
    return {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": described}


def _column(column: Raw) -> Column:
    path = column["jsonPath"]
    described = column.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    definition = {
        "name": column["name"],
        "type": column["type"],
        "format": column.get("format", ""),
        "description": described,
        "priority": column.get("priority", 0),
    }
    return Column(definition, _cell(path, column["type"]))


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
            return msgspec.json.encode(value, order="sorted").decode()
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
