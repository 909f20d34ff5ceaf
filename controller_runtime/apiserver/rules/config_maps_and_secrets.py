# SPDX-License-Identifier: Apache-2.0
"""Rules of config maps and secrets: keys that can be file names, a limit of size, and immutable data."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from controller_runtime.api.names import config_key_problems
from controller_runtime.apiserver.rules.rules import Object, Rules, part
from controller_runtime.apiserver.rules.validation import forbidden, invalid
from controller_runtime.apiserver.status import Cause

_LIMIT = 1024 * 1024  # bytes of all values together, a real server's limit; keys do not count
_FROZEN = "field is immutable when `immutable` is set"


class ConfigMapRules(Rules):
    """A config map holds strings in `data` and bytes in `binaryData`; a key occurs in one of them."""

    def causes(self, obj: Object) -> Iterator[Cause]:
        texts, binaries = part(obj, "data"), part(obj, "binaryData")
        for name, data, other in (("data", texts, binaries), ("binaryData", binaries, {})):
            for key in data:
                for text in config_key_problems(key):
                    yield invalid(f"{name}[{key}]", key, text)
                if key in other:
                    yield invalid(f"{name}[{key}]", key, "duplicate of key present in binaryData")
        size = sum(len(text.encode()) for text in texts.values()) + sum(map(_size, binaries.values()))
        yield from _size_causes(size, "")

    def update_causes(self, old: Object, new: Object, subresource: str) -> list[Cause]:
        return _frozen_causes(old, new, "data", "binaryData")


class SecretRules(Rules):
    """A secret holds bytes in `data`, and its type never changes."""

    def causes(self, obj: Object) -> Iterator[Cause]:
        data = part(obj, "data")
        for key in data:
            for text in config_key_problems(key):
                yield invalid(f"data[{key}]", key, text)
        yield from _size_causes(sum(map(_size, data.values())), "data")

    def update_causes(self, old: Object, new: Object, subresource: str) -> list[Cause]:
        causes = _frozen_causes(old, new, "data")
        if old["type"] != new["type"]:
            causes.append(invalid("type", new["type"], "field is immutable"))
        return causes


def _size(encoded: str) -> int:
    return len(base64.b64decode(encoded))


def _size_causes(size: int, field: str) -> list[Cause]:
    if size <= _LIMIT:
        return []
    return [Cause("FieldValueTooLong", f"Too long: may not be more than {_LIMIT} bytes", field)]


def _frozen_causes(old: Object, new: Object, *fields: str) -> list[Cause]:
    if not old.get("immutable"):
        return []
    causes = [forbidden(name, _FROZEN) for name in fields if part(old, name) != part(new, name)]
    return causes if new.get("immutable") else [forbidden("immutable", _FROZEN), *causes]
