# SPDX-License-Identifier: Apache-2.0
"""Rules of config maps and secrets: keys that can be file names, a limit of size, and immutable data."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping

from apimachinery.names import config_key_errors
from embedded_apiserver.causes import forbidden, invalid, required, too_long
from embedded_apiserver.checks.basic import IMMUTABLE, each
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_LIMIT = 1024 * 1024  # bytes of all values together; keys do not count
_FROZEN = "field is immutable when `immutable` is set"
_REDACTED = "<secret contents redacted>"
_ACCOUNT = "kubernetes.io/service-account.name"


def config_map(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a ConfigMap: its keys, which must be valid and unique, and its size."""
    texts, binaries = part(obj, "data"), part(obj, "binaryData")
    for name, data, other in (("data", texts, binaries), ("binaryData", binaries, {})):
        for key in data:
            yield from each(config_key_errors, key, f"{name}[{key}]")
            if key in other:
                yield invalid(f"{name}[{key}]", key, "duplicate of key present in binaryData")
    if sum(len(text.encode()) for text in texts.values()) + sum(map(_size, binaries.values())) > _LIMIT:
        yield too_long("", _LIMIT)


def config_map_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a ConfigMap, which may be immutable."""
    yield from _frozen(old, new, "data", "binaryData")
    if any(old.get(name) != new.get(name) for name in ("data", "binaryData")):
        yield from config_map(new)


def _frozen(old: Object, new: Object, *names: str) -> Iterator[Cause]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", _FROZEN)
    yield from (forbidden(name, _FROZEN) for name in names if part(old, name) != part(new, name))


def _size(encoded: str) -> int:
    return len(base64.b64decode(encoded))


def secret(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a Secret: its keys, its size, and the keys that its type requires."""
    data = part(obj, "data")
    for key in data:
        yield from each(config_key_errors, key, f"data[{key}]")
    if sum(map(_size, data.values())) > _LIMIT:
        yield too_long("data", _LIMIT)
    match obj.get("type", ""):
        case "kubernetes.io/service-account-token":
            if not part(obj["metadata"], "annotations").get(_ACCOUNT):
                yield required(f"metadata.annotations[{_ACCOUNT}]")
        case "kubernetes.io/dockercfg":
            yield from _json(data, ".dockercfg")
        case "kubernetes.io/dockerconfigjson":
            yield from _json(data, ".dockerconfigjson")
        case "kubernetes.io/basic-auth":
            if not {"username", "password"} & data.keys():
                yield from (required(f"data[{name}]") for name in ("username", "password"))
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                yield required("data[ssh-privatekey]")
        case "kubernetes.io/tls":
            yield from (required(f"data[{name}]") for name in ("tls.crt", "tls.key") if name not in data)


def _json(data: Mapping[str, str], key: str) -> Iterator[Cause]:
    if key not in data:
        yield required(f"data[{key}]")
        return
    try:
        value = json.loads(base64.b64decode(data[key]))
    except (ValueError, binascii.Error) as error:
        text = "unexpected end of JSON input" if not data[key] else _go_words(base64.b64decode(data[key]), error)
        yield invalid(f"data[{key}]", _REDACTED, text)
        return
    if value is not None and not isinstance(value, dict):
        name = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
        text = f"json: cannot unmarshal {name} into Go value of type map[string]interface {{}}"
        yield invalid(f"data[{key}]", _REDACTED, text)


def _go_words(data: bytes, error: ValueError) -> str:
    """Return Go's error for invalid JSON; exact only for errors at the start."""
    text = data.decode(errors="replace").lstrip()
    at = getattr(error, "pos", 0)
    if not text or at >= len(text):
        return "unexpected end of JSON input"
    return f"invalid character '{text[at]}' looking for beginning of value"


def secret_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a Secret: its type must not change, and it may be immutable."""
    if old["type"] != (kind := new.get("type", "")):
        yield invalid("type", kind, IMMUTABLE)
    yield from _frozen(old, new, "data")
    yield from secret(new)
