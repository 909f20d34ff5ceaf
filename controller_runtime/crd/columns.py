# SPDX-License-Identifier: Apache-2.0
"""Paths into objects: printer columns, the subresource `scale`, and fields that selectors can name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

ColumnType = Literal["boolean", "date", "integer", "number", "string"]

# One step of a path: a field, a field in quotes with its dots escaped, or an index, a wildcard or a filter in brackets.
_STEP = re.compile(r"\.((?:[^.\[\]\\]|\\.)+)|\[('[^']*'|\"[^\"]*\"|\?\([^)]*\)|\*|-?\d+)\]")
_METADATA: Mapping[str, Any] = {
    "properties": {"creationTimestamp": {"type": "string", "format": "date-time"}, "generation": {"type": "integer"}}
}


@attrs.frozen(kw_only=True)
class Column:
    """One column of `kubectl get`.

    Attributes:
        name: The title.
        path: The path of the value, such as `.spec.beds` or `.status.conditions[?(@.type=="Ready")].status`.
        type: The type of the values; None for the type of the field.
        format: A format such as `int32`; empty for none.
        priority: 0 for a column that is always shown; greater for a column that only `-o wide` shows.
        description: A description for people.
    """

    name: str
    path: str
    type: ColumnType | None = None
    format: str = ""
    priority: int = 0
    description: str = ""

    def body(self) -> dict[str, Any]:
        """Return the column as it is written in a definition."""
        more = {"format": self.format, "priority": self.priority, "description": self.description}
        given = {name: value for name, value in more.items() if value}
        return {"name": self.name, "type": self.type or "string", "jsonPath": self.path, **given}


AGE = Column(name="Age", path=".metadata.creationTimestamp", type="date")
"""The column that kubectl shows for a kind without columns; a kind with columns lists it among them."""


@attrs.frozen(kw_only=True)
class Scale:
    """The fields with which `kubectl scale` and autoscalers work.

    Attributes:
        spec: The path of the desired number of replicas, below `.spec`.
        status: The path of the current number of replicas, below `.status`.
        selector: The path of the replicas' label selector, a text; empty for none.
    """

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str = ""

    def body(self) -> dict[str, str]:
        """Return the subresource as it is written in a definition."""
        more = {"labelSelectorPath": self.selector} if self.selector else {}
        return {"specReplicasPath": self.spec, "statusReplicasPath": self.status, **more}

    def require_fields(self, schema: Mapping[str, Any], name: str) -> None:
        """Check that the schema has the fields of the scale, with the right types; `name` is the class, for the
        message.

        Raises:
            ValueError: A field is missing, or has another type.
        """
        for path, wanted in ((self.spec, "integer"), (self.status, "integer"), (self.selector, "string")):
            if path and (found := require_path(schema, path, f"{name}: scale").get("type")) != wanted:
                raise ValueError(f"{name}: scale: {path} is of type {found}, and must be of type {wanted}")


def columns_of(
    schema: Mapping[str, Any], columns: Mapping[str, str] | Sequence[Column], name: str
) -> tuple[Column, ...]:
    """Return the columns with types from the schema.

    Args:
        schema: The schema of the objects.
        columns: Paths by title, or `Column` values.
        name: The name of the class, for error messages.

    Raises:
        ValueError: A path names a field that the schema does not have.
    """
    if isinstance(columns, Mapping):
        columns = [Column(name=title, path=path) for title, path in columns.items()]
    made = []
    for column in columns:
        found = require_path(schema, column.path, f"{name}: column {column.name}")
        made.append(column if column.type else attrs.evolve(column, type=_column_type(found)))
    return tuple(made)


def require_path(schema: Mapping[str, Any], path: str, what: str) -> Mapping[str, Any]:
    """Return the schema of the field at a path; an empty dict where the schema allows any fields.

    Raises:
        ValueError: The path is malformed, or the schema has no such field. The message begins with `what`.
    """
    place: Mapping[str, Any] = {**schema, "properties": {**schema.get("properties", {}), "metadata": _METADATA}}
    walked, end = "", 0
    for step in _STEP.finditer(path):
        if step.start() != end:
            break
        end = step.end()
        name = (step[1] or "").replace("\\", "") or (step[2].strip("'\"") if step[2][0] in "'\"" else "")
        inner = place.get("items", {}) if not name else place.get("properties", {}).get(name)
        if inner is None and name and walked.startswith(".metadata"):
            return {"type": "string"}
        if inner is None:
            inner = place.get("additionalProperties") or ({} if _is_open(place) else None)
        if inner is None:
            raise ValueError(f"{what}: {path} names {name!r}, which {walked or 'the object'} does not have")
        place, walked = inner, path[:end]
    if end != len(path) or not path:
        raise ValueError(f"{what}: {path!r} is not a path: write it as .spec.field")
    return place


def _is_open(schema: Mapping[str, Any]) -> bool:
    return "type" not in schema or bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def _column_type(schema: Mapping[str, Any]) -> ColumnType:
    """Return the type of the column for a field."""
    if schema.get("format") == "date-time":
        return "date"
    for name in ("boolean", "integer", "number"):
        if schema.get("type") == name:
            return name
    return "string"
