# SPDX-License-Identifier: Apache-2.0
"""Documents as clients send them: JSON and YAML into plain dicts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec
import yaml

from controller_runtime.apiserver.bounds import (
    LIGHT,
    MOST_TOLD,
    MOST_VALUES,
    abbreviated,
    has_too_many_values,
    is_too_heavy,
)
from controller_runtime.apiserver.rules.shape import Place, path_of
from controller_runtime.apiserver.status import too_many_values
from controller_runtime.apiserver.writes import yaml_reader
from controller_runtime.core.errors import UNREADABLE

_SHOWN = 30


class Unreadable(Exception):
    """Not a document with named fields; the text shows its beginning."""


def from_json(body: bytes, *, tell_repeated: bool = True) -> tuple[dict[str, Any], list[str]]:
    """The object a JSON text holds, and, if asked for, the names that stand in it twice (the last one counts).

    Raises:
        Unreadable: No JSON, or no object.
        StatusError: 413, it holds too many values.
    """
    check_values(body)
    try:
        document = msgspec.json.decode(body)
        # Equal length once white space is gone means equal content; else an escape or a number is written
        # in its own way, or a name stands there twice: only then is the slow road taken.
        suspicious = tell_repeated and len(msgspec.json.encode(document)) != len(msgspec.json.format(body, indent=-1))
        repeated = _repeated(body) if suspicious else []
    except UNREADABLE as error:
        raise _unreadable("json", error, body) from error
    if type(document) is not dict:
        raise _unreadable("json", "not an object", body)
    return document, repeated


def from_yaml(body: bytes) -> tuple[dict[str, Any], list[str]]:
    """The object a YAML text holds, with JSON's types; nothing stands in it twice, for that is refused.

    Raises:
        Unreadable: No YAML, no object, a name that stands there twice, an alias, a tag, or what JSON cannot say.
        StatusError: 413, it holds too many values.
    """
    try:
        document = yaml_reader.from_yaml(body)
    except yaml_reader.TooManyValues:
        raise too_many_values() from None
    except (yaml.YAMLError, ValueError) as error:
        raise _unreadable("yaml", " ".join(str(error).split()), body) from error
    if type(document) is not dict:
        raise _unreadable("yaml", "not an object", body)
    return document, []


def check_values(body: bytes) -> None:
    """Refuse a JSON text that holds too many values.

    Raises:
        StatusError: 413.
    """
    if len(body) > MOST_VALUES and has_too_many_values(body):
        raise too_many_values()


def check_weight(document: Any, size: int) -> None:
    """Refuse a document that holds too many values, or too many too deep; `size` is that of its JSON, at most.

    Raises:
        StatusError: 413.
    """
    if size > LIGHT and is_too_heavy(document):
        raise too_many_values()


def _unreadable(form: str, problem: object, body: bytes) -> Unreadable:
    start = body[:_SHOWN].decode("utf-8", "replace")
    shown = (start + (" ..." if len(body) > _SHOWN else "")) or "<empty>"
    return Unreadable(f"{form} parse error: {problem} ({shown})")


class _Repeating(dict[str, Any]):
    names: tuple[str, ...] = ()


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = _Repeating(pairs)
    if len(whole) != len(pairs):
        names = [name for name, _ in pairs]
        whole.names = tuple(name for name, times in Counter(names).items() if times > 1)
    return whole


def _repeated(body: bytes) -> list[str]:
    found: list[str] = []
    waiting: list[tuple[Place, Any]] = [(None, json.loads(body, object_pairs_hook=_object_of))]
    while waiting and len(found) < MOST_TOLD:
        place, value = waiting.pop()
        if isinstance(value, _Repeating):
            named = value.names[: MOST_TOLD - len(found)]
            found += [abbreviated(f'duplicate field "{path_of((place, f".{name}"))}"') for name in named]
            waiting += [((place, f".{name}"), item) for name, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((place, f"[{index}]"), item) for index, item in reversed(list(enumerate(value)))]
    return found
