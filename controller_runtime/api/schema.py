# SPDX-License-Identifier: Apache-2.0
"""Schemas of the API's own kinds, recorded from a real server and shipped as data.

They are loaded when first asked for (about two milliseconds) and resolved as they are
walked, so recursive ones are no trouble.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import msgspec

_DATA = "data/schemas-1.36.json.gz"
_REF = "#/components/schemas/"


class Schema:
    """What may stand at one place of an object. Immutable; the same definition answers the same Schema.

    Attributes:
        name: Full name of the definition referred to, such as `io.k8s.api.core.v1.Taint`; empty for a plain type.
        type: `object`, `array`, `string`, `integer`, `number`, `boolean`, or empty where several may stand.
        format: Such as `int32`, `date-time`, `int-or-string`; empty for none.
        required: Properties that have to be there, by the schema's word.
        default: What stands there when the client is silent; None for nothing.
        merge_key: What tells the elements of a list apart in a strategic merge; empty for none.
        strategies: Of a strategic merge, such as `("merge", "retainKeys")`; without `merge` a list is replaced.
        list_type: `map`, `set` or `atomic`: how the elements of a list are owned; empty is atomic.
        list_keys: What tells the elements of a list of type `map` apart.
        map_type: `atomic` for an object that is owned whole; else empty or `granular`.

    Threads: any.
    """

    def __init__(self, raw: Mapping[str, Any], library: Library) -> None:
        self._library = library
        reference = raw.get("$ref") or _wrapped(raw)
        self.name = reference.removeprefix(_REF)
        self._raw = {**library.raw(self.name), **raw} if self.name else raw
        self.type: str = self._raw.get("type", "")
        self.format: str = self._raw.get("format", "")
        self.required: tuple[str, ...] = tuple(self._raw.get("required", ()))
        self.default: Any = self._raw.get("default")
        self.merge_key: str = self._raw.get("x-kubernetes-patch-merge-key", "")
        strategies = self._raw.get("x-kubernetes-patch-strategy", "")
        self.strategies: tuple[str, ...] = tuple(strategies.split(",")) if strategies else ()
        self.list_type: str = self._raw.get("x-kubernetes-list-type", "")
        self.list_keys: tuple[str, ...] = tuple(self._raw.get("x-kubernetes-list-map-keys", ()))
        self.map_type: str = self._raw.get("x-kubernetes-map-type", "")

    @functools.cached_property
    def properties(self) -> Mapping[str, Schema]:
        """The fields of an object by name; empty for maps and for what is no object."""
        if self.name:
            return self._library.properties(self.name)
        return {name: Schema(raw, self._library) for name, raw in self._raw.get("properties", {}).items()}

    @functools.cached_property
    def items(self) -> Schema | None:
        """What the elements of a list are; None for what is no list."""
        raw = self._raw.get("items")
        return None if raw is None else Schema(raw, self._library)

    @functools.cached_property
    def additional(self) -> Schema | None:
        """What the values of a map are; None for what is no map."""
        raw = self._raw.get("additionalProperties")
        return Schema(raw, self._library) if isinstance(raw, dict) else None

    def __repr__(self) -> str:
        return f"<Schema {self.name or self.type or 'of anything'}>"


def _wrapped(raw: Mapping[str, Any]) -> str:
    """What a schema refers to through `allOf`, which is how OpenAPI adds to a reference; empty for nothing.

    In the definition of a custom kind `allOf` holds rules, and no reference.
    """
    parts: Sequence[Mapping[str, Any]] = raw.get("allOf", ())
    return next((part["$ref"] for part in parts if "$ref" in part), "")


class Library:
    """Definitions by name, as OpenAPI components have them. Immutable.

    Args:
        definitions: Name to raw schema; kept, not copied.

    Threads: any; two threads may resolve one definition at once, and either result is kept.
    """

    def __init__(self, definitions: Mapping[str, Mapping[str, Any]]) -> None:
        self._definitions = definitions
        self._properties: dict[str, Mapping[str, Schema]] = {}  # filled as definitions are walked

    def raw(self, name: str) -> Mapping[str, Any]:
        """One definition as it was recorded.

        Raises:
            KeyError: There is none of this name.
        """
        return self._definitions[name]

    def properties(self, name: str) -> Mapping[str, Schema]:
        """The fields of one definition, shared by all places that refer to it."""
        found = self._properties.get(name)
        if found is None:
            raw = self.raw(name).get("properties", {})
            found = self._properties[name] = {key: Schema(value, self) for key, value in raw.items()}
        return found

    def kinds(self) -> Iterator[tuple[tuple[str, str, str], Schema]]:
        """Group, version and kind of each definition that is a kind, with its schema."""
        for name, raw in self._definitions.items():
            for kind in raw.get("x-kubernetes-group-version-kind", ()):
                yield (kind["group"], kind["version"], kind["kind"]), Schema({"$ref": _REF + name}, self)


@functools.cache
def definitions() -> Mapping[str, Mapping[str, Any]]:
    """All recorded definitions by name, as OpenAPI components have them; shared, so do not change them."""
    packed = resources.files(__package__).joinpath(_DATA).read_bytes()
    decoded: dict[str, dict[str, Any]] = msgspec.json.decode(gzip.decompress(packed))
    return decoded


@functools.cache
def _recorded() -> Mapping[tuple[str, str, str], Schema]:
    return dict(Library(definitions()).kinds())


def schema_for(group: str, version: str, kind: str) -> Schema | None:
    """The schema of one kind, or None when none was recorded.

    Args:
        group: API group, empty for the core group.
        version: Such as `v1`.
        kind: Such as `Node`.
    """
    return _recorded().get((group, version, kind))
