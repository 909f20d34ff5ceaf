# SPDX-License-Identifier: Apache-2.0
"""What a column of a table is, and the cells that many kinds have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs

from controller_runtime.apiserver.reads.ages import age
from controller_runtime.apiserver.rules.label_match import selector_text
from controller_runtime.apiserver.rules.rules import Object

Cell = Callable[[Object, datetime], str | float | bool | None]
"""From a stored object and the time to what stands in its row."""

NONE = "<none>"


@attrs.frozen
class Column:
    """One column.

    Attributes:
        name: Its head.
        cell: What stands in it.
        description: For people.
        is_wide: Whether it is shown only to those who ask for more.
        format: `name` for the column that names the object.
        type: Of the cells, in JSON's words.
    """

    name: str
    cell: Cell
    description: str
    is_wide: bool = attrs.field(default=False, kw_only=True)
    format: str = attrs.field(default="", kw_only=True)
    type: str = attrs.field(default="string", kw_only=True)

    def definition(self) -> dict[str, Any]:
        """The column as a table declares it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": int(self.is_wide),
        }


def value_at(obj: Object, path: str) -> Any:
    """What stands at `spec.replicas`, say; None for nothing."""
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def at(path: str, absent: str | int | bool = NONE) -> Cell:
    """The value at a path, or what stands for its absence."""

    def cell(obj: Object, now: datetime) -> str | int | bool | None:
        value = value_at(obj, path)
        return absent if value is None or value == "" else value

    return cell


def age_of(path: str) -> Cell:
    """How long ago the time at a path was."""
    return lambda obj, now: age(value_at(obj, path), now)


def count_of(*paths: str) -> Cell:
    """How many entries the lists or maps at some paths have together."""
    return lambda obj, now: sum(len(value_at(obj, path) or ()) for path in paths)


def of(read: Callable[[Object], str | int | bool | None]) -> Cell:
    """A cell that does not depend on the time."""
    return lambda obj, now: read(obj)


def listed(values: Sequence[str]) -> str:
    """Texts with commas, or a word for none."""
    return ",".join(values) or NONE


def labels_at(path: str) -> Cell:
    """Labels or a selector as text: `a=1,b=2`."""
    return lambda obj, now: listed([f"{key}={value}" for key, value in sorted((value_at(obj, path) or {}).items())])


def selector_at(path: str) -> Cell:
    """A selector of labels and expressions as text."""

    return lambda obj, now: selector_text(value_at(obj, path) or {}) or NONE


NAME = Column("Name", at("metadata.name", ""), "What the object is called.", format="name")
AGE = Column("Age", age_of("metadata.creationTimestamp"), "How long ago the object was created.")
