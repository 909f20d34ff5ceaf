# SPDX-License-Identifier: Apache-2.0
"""Columns of tables, whose definitions are recorded data, and functions that make cells for many kinds."""

from __future__ import annotations

import functools
import gzip
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib import resources
from typing import Any

import attrs
import msgspec

from embedded_apiserver.reads.ages import age
from embedded_apiserver.rules.label_match import selector_text
from embedded_apiserver.rules.rules import Object

Cell = Callable[[Object, datetime], str | float | bool | None]
"""From a stored object and the present time to the cell in its row."""

NONE = "<none>"
_DATA = "data/columns-1.36.json.gz"


Cells = Mapping[str, Cell]
"""The cells of a kind, by the names of the columns."""


@attrs.frozen
class Column:
    """A column of a table.

    Attributes:
        definition: The definition in a table: its name, type, format and description, and whether it is shown only on
            request (`priority`).
        cell: The function that makes the cells.
    """

    definition: Mapping[str, Any]
    cell: Cell

    @property
    def name(self) -> str:
        """The heading."""
        name: str = self.definition["name"]
        return name


@attrs.frozen
class Layout:
    """How tables of a kind look.

    Attributes:
        columns: The columns.
        conditions: From an object to the conditions of its row; None if rows have none.
        has_empty_rows: Whether a table without rows has an empty list of them; otherwise it has null, as on a real
            server where no code makes tables of the kind.
        order: From an object to its place among the rows; None for the order of the list.
    """

    columns: Sequence[Column]
    conditions: Callable[[Object], Sequence[Object]] | None = None
    has_empty_rows: bool = True
    order: Callable[[Object], tuple[int, str]] | None = None


@functools.cache
def _recorded() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    packed = resources.files(__package__).joinpath(_DATA).read_bytes()
    found: dict[str, list[dict[str, Any]]] = msgspec.json.decode(gzip.decompress(packed))
    return found


def definitions_of(api_version: str, kind: str) -> Sequence[Mapping[str, Any]]:
    """Return the recorded definitions of the columns of a built-in kind; empty if the kind is unknown."""
    return _recorded().get(f"{api_version}/{kind}", ())


def recorded(api_version: str, kind: str, name: str) -> Mapping[str, Any]:
    """Return the recorded definition of one column, for kinds that share it."""
    return next(one for one in definitions_of(api_version, kind) if one["name"] == name)


def value_at(obj: Object, path: str) -> Any:
    """Return the value at a path such as `spec.replicas`; None if there is none."""
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def at(path: str, absent: str | int | bool = NONE) -> Cell:
    """Return a cell with the value at a path, or `absent` if the value is missing, null or empty."""

    def cell(obj: Object, now: datetime) -> str | int | bool | None:
        value = value_at(obj, path)
        return absent if value is None or value == "" else value

    return cell


def age_of(path: str) -> Cell:
    """Return a cell with the age of the time at a path."""
    return lambda obj, now: age(value_at(obj, path), now)


def count_of(*paths: str) -> Cell:
    """Return a cell with the number of entries of the lists or maps at some paths, all together."""
    return lambda obj, now: sum(len(value_at(obj, path) or ()) for path in paths)


def of(read: Callable[[Object], str | int | bool | None]) -> Cell:
    """Return a cell that does not depend on the time."""
    return lambda obj, now: read(obj)


def listed(values: Sequence[str]) -> str:
    """Return strings, joined by commas; `<none>` if there are none."""
    return ",".join(values) or NONE


def labels_at(path: str) -> Cell:
    """Return a cell with the labels, or the plain selector, at a path: `a=1,b=2`."""
    return lambda obj, now: listed([f"{key}={value}" for key, value in sorted((value_at(obj, path) or {}).items())])


def selector_at(path: str) -> Cell:
    """Return a cell with the selector of labels and expressions at a path."""
    return lambda obj, now: selector_text(value_at(obj, path) or {}) or NONE


NAME = at("metadata.name", "")
AGE = age_of("metadata.creationTimestamp")
