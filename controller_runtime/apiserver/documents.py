# SPDX-License-Identifier: Apache-2.0
"""Documents as clients send them: JSON and YAML into plain dicts."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import yaml

from controller_runtime.apiserver.shape import Place, path_of
from controller_runtime.core.errors import UNREADABLE

_SHOWN = 30


class Unreadable(Exception):
    """Not a document with named fields; the text shows its beginning."""


def from_json(body: bytes, *, tell_repeated: bool = True) -> tuple[dict[str, Any], list[str]]:
    """The object a JSON text holds, and, if asked for, the names that stand in it twice (the last one counts).

    Raises:
        Unreadable: No JSON, or no object.
    """
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
        Unreadable: No YAML, no object, a name that stands there twice, or an alias.
    """
    try:
        document = yaml.load(body, _JSONLikeLoader)  # a subclass of the safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _unreadable("yaml", " ".join(str(error).split()), body) from error
    if type(document) is not dict:
        raise _unreadable("yaml", "not an object", body)
    return document, []


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
        whole.names = tuple(name for name in whole if names.count(name) > 1)
    return whole


def _repeated(body: bytes) -> list[str]:
    found: list[str] = []
    waiting: list[tuple[Place, Any]] = [(None, json.loads(body, object_pairs_hook=_object_of))]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, _Repeating):
            found += [f'duplicate field "{path_of((place, f".{name}"))}"' for name in value.names]
            waiting += [((place, f".{name}"), item) for name, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((place, f"[{index}]"), item) for index, item in reversed(list(enumerate(value)))]
    return found


class _JSONLikeLoader(yaml.SafeLoader):
    """YAML with the types of JSON: times stay texts, names are texts, nothing is shared."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # the base class declares it
        start: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for start, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):  # a few of them can stand for gigabytes
            raise yaml.YAMLError("aliases are not accepted")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            name = key if isinstance(key, str) else json.dumps(key)
            if name in mapping:
                raise yaml.YAMLError(f"{name!r} stands there twice")
            mapping[name] = self.construct_object(value_node, deep=True)
        return mapping


def _construct_mapping(loader: _JSONLikeLoader, node: Any) -> dict[str, Any]:
    return loader.construct_mapping(node, deep=True)


_JSONLikeLoader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
