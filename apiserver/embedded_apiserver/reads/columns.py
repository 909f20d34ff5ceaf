# SPDX-License-Identifier: Apache-2.0
"""Columns of tables: those of built-in kinds, whose definitions are recorded data, and of custom ones."""

from __future__ import annotations

import functools
import gzip
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib import resources
from typing import Any

import attrs
import msgspec

from embedded_apiserver.kinds.ages import age
from embedded_apiserver.kinds.cells import NAME, Cell, Cells, at
from embedded_apiserver.kinds.definition import Definition, Raw
from embedded_apiserver.kinds.kind import Kind, cached_by_kind
from embedded_apiserver.kinds.recorded import as_in
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.objects import Object
from embedded_apiserver.reads.jsonpath import JSONPath

_DATA = "data/columns-1.36.json.gz"


@attrs.frozen
class Column:
    """A column of the tables of one kind.

    Attributes:
        definition: The column's definition in the API: name, type, format, description and `priority` (above 0: only
            with `-o wide`).
        cell: The function that returns the cell of an object.
    """

    definition: Mapping[str, Any]
    cell: Cell

    @property
    def name(self) -> str:
        """The heading of the column."""
        name: str = self.definition["name"]
        return name


@attrs.frozen
class Layout:
    """The layout of tables of one kind.

    Attributes:
        columns: The columns.
        conditions: A function that returns the conditions of an object's row; None if rows have none.
        has_empty_rows: True if `rows` of a table without objects is an empty list. If False it is null, as for kinds
            for which a real API server has no table code.
        order: A function that returns the sort key of an object's row; None for the order of the list.
    """

    columns: Sequence[Column]
    conditions: Callable[[Object], Sequence[Object]] | None = None
    has_empty_rows: bool = True
    order: Callable[[Object], tuple[int, str]] | None = None


@functools.cache
def _recorded(release: Release = NEWEST) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    packed = resources.files(__package__).joinpath(_DATA).read_bytes()
    newest: dict[str, list[dict[str, Any]]] = msgspec.json.decode(gzip.decompress(packed))
    found: Mapping[str, Sequence[Mapping[str, Any]]] = as_in(str(release), "columns", newest)
    return found


def definitions_of(api_version: str, kind: str, release: Release = NEWEST) -> Sequence[Mapping[str, Any]]:
    """Return the recorded column definitions of a built-in kind; empty if the kind is unknown."""
    return _recorded(release).get(f"{api_version}/{kind}", ())


def recorded(api_version: str, kind: str, name: str) -> Mapping[str, Any]:
    """Return the recorded definition of the column `name`, which several kinds may share."""
    return next(one for one in definitions_of(api_version, kind) if one["name"] == name)


_LEASE = "coordination.k8s.io/v1", "Lease"  # has the columns that a custom kind has, too


def custom_columns(definition: Definition) -> tuple[Column, ...]:
    """Return the columns of a custom kind: its name, then its printer columns, or the age if it declares none."""
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


_GENERIC: Cells = {"Name": NAME, "Created At": at("metadata.creationTimestamp", "")}
_LIKE_ROLES = "rbac.authorization.k8s.io/v1", "Role"


@cached_by_kind
def table_of(kind: Kind) -> Layout:
    """Return the layout of tables of a kind."""
    if kind.definition is not None:
        return Layout(custom_columns(kind.definition))
    cells = kind.stored.cells
    if cells is None:  # the kinds that no table is made for
        columns = tuple(Column(one, _GENERIC[one["name"]]) for one in definitions_of(*_LIKE_ROLES, kind.release))
        return Layout(columns, has_empty_rows=False)
    definitions = definitions_of(kind.api_version, kind.kind, kind.release)
    columns = tuple(Column(one, cells[one["name"]]) for one in definitions)
    return Layout(columns, kind.row_conditions, order=kind.row_order)
