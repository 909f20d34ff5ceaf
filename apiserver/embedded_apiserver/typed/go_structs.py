# SPDX-License-Identifier: Apache-2.0
"""Parts of objects as a real API server's messages show them: with the names and zero values of its structs.

Most messages show numbers, texts and lists of them. Some show a whole part, or how two differ. Only those read the
fields of the structs, from data/go_structs.json, which `tests/tools/go_structs.py` writes.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import msgspec

from embedded_apiserver.kinds.metadata import METADATA_ORDER

Fields = tuple[tuple[str, str], ...]

_ZEROS: Mapping[str, Any] = {"string": "", "number": 0, "bool": False, "quantity": "0", "time": None}
_PREFIXES = ("*", "[]", "{}")
# Names of fields that are not those of the API, but for upper and lower case.
_NAMES = {
    "rbdimage": "image",
    "rbdpool": "pool",
    "radosuser": "user",
    "cephmonitors": "monitors",
    "datadiskuri": "diskuri",
    "discoverychapauth": "chapauthdiscovery",
    "sessionchapauth": "chapauthsession",
    "endpointsname": "endpoints",
    "donotuseexternalid": "externalid",
}
_OF_HOST = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_LINES_AROUND = 3


def shown(struct: str, value: Any) -> msgspec.Raw:
    """Return a value as the JSON of a real API server's Go struct, for the message of a validation error.

    Args:
        struct: The name of the struct, such as `PodTemplateSpec`, with the prefix `*` or `[]` if the value may be
            missing.
        value: The value, in stored form.
    """
    return msgspec.Raw(_escaped(json.dumps(_rendered(struct, value), ensure_ascii=False, separators=(",", ":"))))


def difference(struct: str, before: Any, after: Any) -> str:
    """Return the lines in which two values differ as JSON of a Go struct, each with its context lines."""
    old, new = (
        [f"{line}\n" for line in _escaped(json.dumps(_rendered(struct, one), ensure_ascii=False, indent=1)).split("\n")]
        for one in (before, after)
    )
    import difflib  # only for changes of a pod's spec that are refused

    lines = difflib.unified_diff(old, new, n=_LINES_AROUND)
    return "".join(line for number, line in enumerate(lines) if number > 1)  # the first two name the files


def _escaped(text: str) -> str:
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@functools.cache
def _structs() -> Mapping[str, Fields]:
    data = resources.files("embedded_apiserver.typed").joinpath("data/go_structs.json").read_text("utf-8")
    made = {}
    for name, fields in json.loads(data).items():
        pairs = (field.partition(":") for field in fields.split())
        made[name] = tuple((field, kind) for field, _, kind in pairs)
    return made


def _rendered(kind: str, value: Any) -> Any:
    for prefix in _PREFIXES:
        if kind.startswith(prefix):
            return _optional(prefix, kind.removeprefix(prefix), value)
    if kind in _ZEROS:
        return _ZEROS[kind] if value is None else value
    match kind:
        case "metadata":
            return {name: _sorted(value[name]) for name in METADATA_ORDER if value and value.get(name)}
        case "selector":
            return _selector(value or {})
    fields = _structs().get(kind)
    return value if fields is None else _struct(kind, fields, value or {})


def _sorted(value: Any) -> Any:
    return dict(sorted(value.items())) if isinstance(value, dict) else value


def _optional(prefix: str, kind: str, value: Any) -> Any:
    if value is None or (prefix != "*" and not value):
        return None
    if prefix == "*":
        return _rendered(kind, value)
    if prefix == "[]":
        return [_rendered(kind, item) for item in value] if isinstance(value, list | tuple) else value
    return {name: _rendered(kind, value[name]) for name in sorted(value)}


def _struct(kind: str, fields: Fields, value: Mapping[str, Any]) -> dict[str, Any]:
    if kind == "PodSpec":
        of_host = {name: value[name] for name in _OF_HOST if name in value}
        value = {**value, "securityContext": {**(value.get("securityContext") or {}), **of_host}}
    known = {name.lower(): item for name, item in value.items()}
    made: dict[str, Any] = {}
    for name, of in fields:
        if name:
            key = name.lower()
            made[name] = _rendered(of, known.get(_NAMES.get(key, key)))
        else:
            # The fields of an embedded struct are shown as if they were the struct's own.
            made |= _rendered(of, value.get("metadata") if of == "metadata" else value)
    return made


def _selector(value: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if labels := value.get("matchLabels"):
        made["matchLabels"] = dict(sorted(labels.items()))
    if expressions := value.get("matchExpressions"):
        made["matchExpressions"] = [
            {name: one.get(name, "") for name in ("key", "operator")}
            | ({"values": one["values"]} if one.get("values") else {})
            for one in expressions
        ]
    return made
