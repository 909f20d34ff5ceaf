# SPDX-License-Identifier: Apache-2.0
"""Columns of tables, and functions that make cells for many kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs

from controller_runtime.apiserver.reads.ages import age
from controller_runtime.apiserver.rules.label_match import selector_text
from controller_runtime.apiserver.rules.rules import Object

Cell = Callable[[Object, datetime], str | float | bool | None]
"""From a stored object and the present time to the cell in its row."""

NONE = "<none>"


@attrs.frozen
class Column:
    """A column of a table.

    Attributes:
        name: The heading.
        cell: The function that makes the cells.
        description: An explanation for people.
        is_wide: Whether the column is shown only on request, as by `kubectl get -o wide`.
        format: `name` for the column with the object's name, which clients look for; else empty.
        type: The type of the cells, as JSON names it.
    """

    name: str
    cell: Cell
    description: str
    is_wide: bool = attrs.field(default=False, kw_only=True)
    format: str = attrs.field(default="", kw_only=True)
    type: str = attrs.field(default="string", kw_only=True)

    def definition(self) -> dict[str, Any]:
        """Return the definition of the column in a table."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": int(self.is_wide),
        }


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


NAME = Column("Name", at("metadata.name", ""), "The name of the object.", format="name")
AGE = Column("Age", age_of("metadata.creationTimestamp"), "The time since the object was created.")
