# SPDX-License-Identifier: Apache-2.0
"""Decoding of JSON and YAML bodies into plain dicts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from apimachinery.errors import UNREADABLE
from embedded_apiserver.bounds import (
    LIGHT,
    MOST_TOLD,
    MOST_VALUES,
    abbreviated,
    has_too_many_values,
    is_too_heavy,
)
from embedded_apiserver.go_texts import no_json
from embedded_apiserver.status import too_many_values
from embedded_apiserver.typed.shape import Place, path_of

# Bytes of a malformed document that its refusal quotes.
_SHOWN = 30
_TRUNCATED = "Input data was truncated"
# Types of JSON, and the struct into which a real server reads the kind of an object first, as its messages name them.
_GO_TYPES = {list: "array", str: "string", int: "number", float: "number", bool: "bool"}
_TYPE_META = (
    'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


class Unreadable(Exception):
    """The body is not an object in JSON or YAML. The message quotes its beginning."""


def from_json(body: bytes, *, tell_repeated: bool = True) -> tuple[dict[str, Any], list[str]]:
    """Return the object in a JSON text, and a warning for each field name that an object repeats.

    If a name is repeated, the last value counts.

    Args:
        body: The JSON text.
        tell_repeated: Whether repeated names are looked for.

    Raises:
        Unreadable: The body is not JSON, or not an object.
        StatusError: 413, the body holds too many values.
    """
    check_values(body)
    try:
        document = msgspec.json.decode(body)
        # A repeated name makes the text (without white space) longer than the document encoded again, and so does
        # another spelling of an escape or a number. Only if the lengths differ is the text parsed again, in Python,
        # which is slow.
        suspicious = tell_repeated and len(msgspec.json.encode(document)) != len(msgspec.json.format(body, indent=-1))
        repeated = _repeated(body) if suspicious else []
    except UNREADABLE as error:
        raise _unreadable("json", why_unreadable(body, error), body) from error
    if document is None:  # everywhere in the API, null counts as nothing was given
        return {}, []
    if type(document) is not dict:
        raise _unreadable("json", f"{no_object(document)} {_TYPE_META}", body)
    return document, repeated


def why_unreadable(body: bytes, error: Exception) -> str:
    """Return why a text is not JSON, in the words of a real server if it ends early or begins with no value."""
    return no_json(body) or ("unexpected end of JSON input" if str(error) == _TRUNCATED else str(error))


def no_object(document: Any) -> str:
    """Return how a real server's refusal of a JSON value that is not an object begins; the Go type follows."""
    return f"json: cannot unmarshal {_GO_TYPES[type(document)]} into"


def from_yaml(body: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return the object in a YAML text, with JSON's types, and no warnings: repeated names are refused.

    Raises:
        Unreadable: It is not YAML or not an object, or it has a repeated name, an alias, a tag, or a value that
            JSON does not have.
        StatusError: 413, it holds too many values.
    """
    import yaml  # here, because most servers are sent JSON alone

    from embedded_apiserver.typed import yaml_reader

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
    """Refuse a JSON text with too many values, before it is decoded.

    Raises:
        StatusError: 413.
    """
    if len(body) > MOST_VALUES and has_too_many_values(body):
        raise too_many_values()


def check_weight(document: Any, size: int) -> None:
    """Refuse a document with too many values, or with too many that are deeply nested.

    Args:
        document: The decoded document.
        size: An upper bound of the size of its JSON, in bytes. Values of a small document are not counted.

    Raises:
        StatusError: 413.
    """
    if size > LIGHT and is_too_heavy(document):
        raise too_many_values()


def _unreadable(form: str, problem: object, body: bytes) -> Unreadable:
    return Unreadable(f"{form} parse error: {problem} ({beginning_of(body)})")


def beginning_of(body: bytes) -> str:
    """Return the beginning of a body, as a refusal quotes it: in hexadecimal if it is not an object."""
    start = body[:_SHOWN].decode("utf-8", "replace") if body.startswith(b"{") else body[:_SHOWN].hex()
    return (start + (" ..." if len(body) > _SHOWN else "")) or "<empty>"


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


_TWICE = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject "
    "such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)


def of_owners(owners: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the warning about duplicate owner references; each is stored once."""
    if len(owners) < 2:
        return []
    again = [str(one.get("uid", "")) for index, one in enumerate(owners) if one in owners[:index]]
    return [_TWICE.format(", ".join(dict.fromkeys(again)))] if again else []
