# SPDX-License-Identifier: Apache-2.0
"""The shapes of lists and maps, and the places of values; see `shape`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from embedded_apiserver.typed.values import Reader, json_name, zero_of

Place: TypeAlias = tuple["Place", str] | None
"""The path of a value in the object: the place of its parent and the last step, `.name` or `[0]`; None at the root.

Its text is made by `path_of` only when a message needs it: a pair per level costs less than a string per value."""

Shape = Callable[[Any, Any, Place, list[Place]], Any]
"""Checks a value, and returns it in stored form. Raises `Misshapen` if it has a wrong type.

The arguments are the value, the old object's value at the same place, the place, and a list to which the places of
unknown fields are added.
"""


class Misshapen(Exception):
    """A value has the wrong type, as the message tells after its path; or the object's kind is wrong or missing."""


def path_of(place: Place) -> str:
    """Return a place as a path for messages, such as `spec.taints[0].key`."""
    steps = []
    while place is not None:
        place, step = place
        steps.append(step)
    return "".join(reversed(steps)).removeprefix(".")


def part_or(part: Shape, other: type, *, drops: bool) -> Shape:
    """Return a `Shape` for a value that either has the shape `part`, or has the type `other` and is stored unchecked.

    If `drops` is True, any other scalar is left out, as by a real API server.
    """

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if drops and isinstance(value, bool | int | float | str):
            return None
        return value if type(value) is other else part(value, old, place, unknown)

    return shape


def list_of_values(reader: Reader) -> Shape:
    """Return a `Shape` (a function that checks and converts a value) for a list of scalars, read by `reader`."""
    zero = zero_of(reader)  # a null becomes this: inside a list it cannot be left out

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not list:
            raise Misshapen(f"{path_of(place)}: expected a list, got {json_name(value)}")
        read: list[Any] = []
        try:
            for item in value:
                read.append(zero if item is None else reader(item))
        except ValueError as error:
            raise Misshapen(f"{path_of(place)}[{len(read)}]: {error}") from error
        # Equality suffices although True == 1: no reader returns another value that equals the one it was given.
        return value if read == value else read

    return shape


def list_of_parts(part: Shape) -> Shape:
    """Return a `Shape` (a function that checks and converts a value) for a list of values of the shape `part`."""

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not list:
            raise Misshapen(f"{path_of(place)}: expected a list, got {json_name(value)}")
        # By identity, not by position: an item may have moved. The old list keeps its items alive, so that no other
        # object has the same id.
        known = {id(item) for item in old} if type(old) is list else ()
        changed = False
        read = []
        for index, item in enumerate(value):
            if id(item) not in known:
                new = part({} if item is None else item, None, (place, f"[{index}]"), unknown)
                changed |= new is not item
                item = new
            read.append(item)
        return read if changed else value

    return shape


def map_of_values(reader: Reader) -> Shape:
    """Return a `Shape` (a function that checks and converts a value) for a map of scalars, read by `reader`."""
    zero = zero_of(reader)

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not dict:
            raise Misshapen(f"{path_of(place)}: expected an object, got {json_name(value)}")
        changes: dict[str, Any] = {}
        name = ""
        try:
            for name, item in value.items():
                new = zero if item is None else reader(item)
                if new is not item:
                    changes[name] = new
        except ValueError as error:
            raise Misshapen(f"{path_of((place, f'.{name}'))}: {error}") from error
        return {**value, **changes} if changes else value

    return shape


def map_of_parts(part: Shape) -> Shape:
    """Return a `Shape` (a function that checks and converts a value) for a map of values of the shape `part`."""

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not dict:
            raise Misshapen(f"{path_of(place)}: expected an object, got {json_name(value)}")
        before = old if type(old) is dict else {}
        changes: dict[str, Any] = {}
        for name, item in value.items():
            new = part({} if item is None else item, before.get(name), (place, f".{name}"), unknown)
            if new is not item:
                changes[name] = new
        return {**value, **changes} if changes else value

    return shape


def checked_by(reader: Reader) -> Shape:
    """Return a `Shape` (a function that checks a value) that checks a scalar by `reader`, but returns None.

    So nothing is stored.
    """

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        reader(value)

    return shape


def empty_after(part: Shape) -> Shape:
    """Return a `Shape` (a function that checks a value) that checks by `part`, but returns None, so nothing is
    stored.
    """

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        part(value, old, place, unknown)

    return shape
