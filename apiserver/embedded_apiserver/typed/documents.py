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
    """A request's body is not an object in JSON or YAML. The message quotes its beginning."""


def from_json(body: bytes, *, tell_repeated: bool = True) -> tuple[dict[str, Any], list[str]]:
    """Return the object in a JSON text, and a warning for each repeated field name.

    The last value of a repeated field counts. Null is an empty object. There are at most `MOST_TOLD` warnings.

    Args:
        body: The JSON text.
        tell_repeated: False to skip the search for repeated names.

    Raises:
        Unreadable: The body is not JSON, or not an object.
        StatusError: 413, the body has too many values.
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
    """Return the error message for a text that is not JSON, in the words of a real API server where possible."""
    return no_json(body) or ("unexpected end of JSON input" if str(error) == _TRUNCATED else str(error))


def no_object(document: Any) -> str:
    """Return the beginning of the error for a JSON value that is not an object, as on a real API server.

    The name of a Go type follows it.
    """
    return f"json: cannot unmarshal {_GO_TYPES[type(document)]} into"


def from_yaml(body: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return the object in a YAML text, with the types of JSON. The list of warnings is always empty.

    Raises:
        Unreadable: The text is not YAML or not an object, or has a repeated name, an alias, a tag, or a value that JSON
            does not have.
        StatusError: 413, the text has too many values.
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
        StatusError: 413, the text has too many values.
    """
    if len(body) > MOST_VALUES and has_too_many_values(body):
        raise too_many_values()


def check_weight(document: Any, size: int) -> None:
    """Refuse a document with too many values, or with too many deeply nested values.

    Args:
        document: The decoded document.
        size: An upper bound of its size as JSON, in bytes. Small documents are not checked.

    Raises:
        StatusError: 413, there are too many values.
    """
    if size > LIGHT and is_too_heavy(document):
        raise too_many_values()


def _unreadable(form: str, problem: object, body: bytes) -> Unreadable:
    return Unreadable(f"{form} parse error: {problem} ({beginning_of(body)})")


def beginning_of(body: bytes) -> str:
    """Return the beginning of a body for an error message; in hexadecimal if the body does not begin with `{`."""
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
