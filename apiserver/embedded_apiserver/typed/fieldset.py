# SPDX-License-Identifier: Apache-2.0
"""Sets of field paths, and their encoding in `managedFields` (FieldsV1).

A path is a tuple of steps, each spelled as in FieldsV1: `f:name` for a field, `k:{"name":"c"}` for the
list element with these keys, `v:"x"` for the list element with this value. A set of fields is a frozenset
of paths, so that union, difference and intersection are Python's own. This module decodes and encodes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from embedded_apiserver.bounds import MOST_VALUES, has_too_many_values

Path: TypeAlias = tuple[str, ...]
"""The steps from the root of an object to a field."""

Fields: TypeAlias = frozenset[Path]
"""A set of fields. Owning a field says nothing about the fields below it."""

Document: TypeAlias = Mapping[str, Any]
"""A set of fields in FieldsV1: nested steps. A step that is in the set and has further ones contains `.` as well."""

NOTHING: Fields = frozenset()
_SELF = "."


def field_step(name: str) -> str:
    """Return the path step to a field of an object, or to a value of a map."""
    return f"f:{name}"


def key_step(keys: Mapping[str, Any]) -> str:
    """Return the path step to the list element with these keys.

    The keys are sorted, so that equal keys give equal steps.
    """
    return f"k:{msgspec.json.encode(keys, order='sorted').decode()}"


def value_step(value: Any) -> str:
    """Return the path step to the list element that equals this value."""
    return f"v:{msgspec.json.encode(value).decode()}"


def contains(document: Document, path: Path) -> bool:
    """Return whether a set encoded as FieldsV1 contains `path`."""
    node = document
    for step in path:
        below = node.get(step)
        if below is None:
            return False
        node = below
    return not node or _SELF in node


def encode(fields: Iterable[Path]) -> dict[str, Any]:
    """Return a set of paths encoded as FieldsV1, with its steps in the order of a real API server."""
    root: dict[str, Any] = {}
    for path in fields:
        node = root
        for step in path:
            node = node.setdefault(step, {})
        node[_SELF] = {}
    return _in_order(root)


def _in_order(node: Document) -> dict[str, Any]:
    """Return `node` with its steps in order. A step that holds nothing but `.` becomes empty."""
    steps = sorted(node)
    if not steps or steps == [_SELF]:
        return {}
    # `.` and `f:` sort correctly as text, and they come before the other kinds of steps. Only those (`k:`, `v:`,
    # `i:`) can hold numbers, which text would order wrongly: the slow sort is for them alone.
    if not steps[-1].startswith("f:"):
        steps.sort(key=_rank)
    return {step: _in_order(node[step]) for step in steps}


def decode(document: Document) -> Fields:
    """Return the set of paths that is encoded as FieldsV1, with steps in the canonical spelling of this module.

    Clients may choose the order of keys and the spaces in a step; without a canonical spelling, equal paths would
    differ.

    Raises:
        ValueError: The document is not FieldsV1; the message names the path of a wrong value, or only a wrong step.
    """
    found: set[Path] = set()
    waiting: list[tuple[Path, Any]] = [((), document)]
    while waiting:
        path, node = waiting.pop()
        if type(node) is not dict:
            raise ValueError(f"{text_of(path)}: expected an object")
        if path and (not node or _SELF in node):
            found.add(path)
        waiting += [((*path, _spelled(step)), below) for step, below in node.items() if step != _SELF]
    return frozenset(found)


def _spelled(step: str) -> str:
    kind, content = _parsed(step)
    match kind:
        case "k" if type(content) is dict:
            return key_step(content)
        case "v":
            return value_step(content)
        case "f" | "i":
            return step
    raise ValueError(f"{step!r} is no step to a field")


def _parsed(step: str) -> tuple[str, Any]:
    kind, colon, rest = step.partition(":")
    try:
        match kind:
            case "f" if colon:
                return kind, rest
            # A step holds JSON of its own, inside a string, where the limit on a body's values does not count it.
            case "k" | "v" if not (len(rest) > MOST_VALUES and has_too_many_values(rest.encode())):
                return kind, msgspec.json.decode(rest)
            case "i":
                return kind, int(rest)
    except (msgspec.DecodeError, ValueError):
        pass  # the same refusal as for an unknown kind of step, below
    raise ValueError(f"{step!r} is no step to a field")


def text_of(path: Path) -> str:
    """Return a path in the form for messages: `.spec.containers[name="c"].image`."""
    return "".join(map(_step_text, path))


def _step_text(step: str) -> str:
    kind, content = _parsed(step)
    match kind:
        case "f":
            return f".{content}"
        case "k":
            return f"[{','.join(f'{name}={_quoted(value)}' for name, value in content.items())}]"
        case "v":
            return f"[={_quoted(content)}]"
    return f"[{content}]"


def _quoted(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def message_order(path: Path) -> tuple[Any, ...]:
    """Return the sort key of a path in messages: at each level, paths that end there come before longer ones."""
    last = len(path) - 1
    return tuple((depth < last, _rank(step)) for depth, step in enumerate(path))


def _rank(step: str) -> tuple[Any, ...]:
    """Return the sort key of a step: the set itself comes first, then fields, keys, values and indexes."""
    if step == _SELF:
        return (0,)
    kind, content = _parsed(step)
    match kind:
        case "f":
            return (1, content)
        case "k":
            return (2, tuple((name, _scalar_rank(value)) for name, value in content.items()))
        case "v":
            return (3, _scalar_rank(content))
    return (4, content)


def _scalar_rank(value: Any) -> tuple[bool, Any]:
    """Return the sort key of a scalar: numbers come first, by value; all else follows by its JSON text."""
    if type(value) is int or type(value) is float:
        return (False, value)
    return (True, _quoted(value))
