# SPDX-License-Identifier: Apache-2.0
"""Functions that make the cells of tables from stored objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from embedded_apiserver.kinds.ages import age
from embedded_apiserver.label_match import selector_text
from embedded_apiserver.objects import Object

Cell = Callable[[Object, datetime], str | float | bool | None]
"""Returns the cell in the row of a stored object, at the present time."""
NONE = "<none>"
Cells = Mapping[str, Cell]
"""The cells of a kind, by the names of the columns."""


def value_at(obj: Object, path: str) -> Any:
    """Return the value of an object at a path such as `spec.replicas`; None if there is none."""
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def at(path: str, absent: str | int | bool = NONE) -> Cell:
    """Return a cell function for the value at a path, or `absent` if the value is missing, null or an empty text."""

    def cell(obj: Object, now: datetime) -> str | int | bool | None:
        value = value_at(obj, path)
        return absent if value is None or value == "" else value

    return cell


def age_of(path: str) -> Cell:
    """Return a cell function for the age of the time at a path."""
    return lambda obj, now: age(value_at(obj, path), now)


def count_of(*paths: str) -> Cell:
    """Return a cell function for the total number of entries in the lists or maps at these paths."""
    return lambda obj, now: sum(len(value_at(obj, path) or ()) for path in paths)


def of(read: Callable[[Object], str | int | bool | None]) -> Cell:
    """Return a cell function that calls `read` with the object, for a cell that does not depend on the time."""
    return lambda obj, now: read(obj)


def listed(values: Sequence[str]) -> str:
    """Return texts joined by commas; `<none>` if there are no texts."""
    return ",".join(values) or NONE


def labels_at(path: str) -> Cell:
    """Return a cell function for the labels, or the plain selector, at a path, such as `a=1,b=2`."""
    return lambda obj, now: listed([f"{key}={value}" for key, value in sorted((value_at(obj, path) or {}).items())])


def selector_at(path: str) -> Cell:
    """Return a cell function for the label selector at a path, with `matchLabels` and `matchExpressions`."""
    return lambda obj, now: selector_text(value_at(obj, path) or {}) or NONE


NAME = at("metadata.name", "")
AGE = age_of("metadata.creationTimestamp")
NAMED: Cells = {"Name": NAME, "Age": AGE}


def default_of(annotation: str) -> Cell:
    """Return a cell function for the object's name, with ` (default)` after it if the annotation is `true`."""

    def name(obj: Object) -> str:
        text: str = obj["metadata"]["name"]
        is_default = (obj["metadata"].get("annotations") or {}).get(annotation) == "true"
        return f"{text} (default)" if is_default else text

    return of(name)
