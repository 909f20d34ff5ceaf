# SPDX-License-Identifier: Apache-2.0
"""Schemas of the API's built-in kinds, recorded from a real API server and shipped as data.

The data are loaded at first use, which takes about two milliseconds. References between definitions are
resolved on access, because some definitions refer to themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

_DATA = "data/schemas-1.36.json.gz"
_REF = "#/components/schemas/"


class Schema:
    """The schema of one value of an object, with its merge rules. Immutable.

    Attributes:
        name: The full name of the definition, such as `io.k8s.api.core.v1.Taint`; empty for a type without a name.
        type: `object`, `array`, `string`, `integer`, `number` or `boolean`; empty if several types are allowed.
        format: The format, such as `int32`, `date-time` or `int-or-string`; empty if absent.
        required: The names of the required properties.
        default: The value that the server sets if the field is absent; None if it sets none.
        merge_key: The field by which a strategic merge patch identifies the elements of a list; empty if absent.
        strategies: The strategies of a strategic merge patch, such as `("merge", "retainKeys")`. Without `merge`, a
            patch replaces a list as a whole.
        list_type: `map` or `set` if field managers own the list's elements one by one, `atomic` or empty if they own
            the list as a whole.
        list_keys: The fields that identify the elements of a list of type `map`.
        map_type: `atomic` if field managers own the object as a whole, `granular` or empty if they own its fields one
            by one.

    Args:
        raw: The schema in OpenAPI, or a reference to a definition.
        library: The definitions that `raw` may refer to.

    Raises:
        KeyError: `raw` refers to a definition that `library` does not have.

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
        """The schemas of an object's fields, by name; empty for a map and for other types."""
        if self.name:
            return self._library.properties(self.name)
        return {name: Schema(raw, self._library) for name, raw in self._raw.get("properties", {}).items()}

    @functools.cached_property
    def items(self) -> Schema | None:
        """The schema of a list's elements; None for other types."""
        raw = self._raw.get("items")
        return None if raw is None else Schema(raw, self._library)

    @functools.cached_property
    def additional(self) -> Schema | None:
        """The schema of a map's values; None for other types."""
        raw = self._raw.get("additionalProperties")
        return Schema(raw, self._library) if isinstance(raw, dict) else None

    def __repr__(self) -> str:
        return f"<Schema {self.name or self.type or 'of anything'}>"


def _wrapped(raw: Mapping[str, Any]) -> str:
    """Return the reference inside `allOf`, or an empty text if absent.

    OpenAPI v3 allows nothing next to a reference, so a reference with a description is wrapped in an `allOf`. In
    the schema of a custom kind, `allOf` holds validation rules and no reference.
    """
    parts: Sequence[Mapping[str, Any]] = raw.get("allOf", ())
    return next((part["$ref"] for part in parts if "$ref" in part), "")


class Library:
    """Schema definitions by name, which can refer to one another. Immutable.

    Args:
        definitions: The definitions in OpenAPI, by name. The mapping is not copied.

    Threads: any. Two threads may resolve one definition at the same time; the results are equal, and one is kept.
    """

    def __init__(self, definitions: Mapping[str, Mapping[str, Any]]) -> None:
        self._definitions = definitions
        self._properties: dict[str, Mapping[str, Schema]] = {}  # filled as definitions are walked

    def raw(self, name: str) -> Mapping[str, Any]:
        """Return the definition named `name`, as in the OpenAPI document.

        Raises:
            KeyError: There is no definition with this name.
        """
        return self._definitions[name]

    def properties(self, name: str) -> Mapping[str, Schema]:
        """Return the schemas of the fields of the definition `name`, by field. Every caller gets the same mapping."""
        found = self._properties.get(name)
        if found is None:
            raw = self.raw(name).get("properties", {})
            found = self._properties[name] = {key: Schema(value, self) for key, value in raw.items()}
        return found

    def kinds(self) -> Iterator[tuple[tuple[str, str, str], Schema]]:
        """Yield the group, API version and kind of each definition of a kind, with its schema."""
        for name, raw in self._definitions.items():
            for kind in raw.get("x-kubernetes-group-version-kind", ()):
                yield (kind["group"], kind["version"], kind["kind"]), Schema({"$ref": _REF + name}, self)


@functools.cache
def definitions() -> Mapping[str, Mapping[str, Any]]:
    """Return all recorded OpenAPI definitions by name. The mapping is shared: do not change it."""
    import gzip  # programs that read no models need neither
    from importlib import resources

    packed = resources.files(__package__).joinpath(_DATA).read_bytes()
    decoded: dict[str, dict[str, Any]] = msgspec.json.decode(gzip.decompress(packed))
    return decoded


@functools.cache
def _recorded() -> Mapping[tuple[str, str, str], Schema]:
    return dict(Library(definitions()).kinds())


def schema_for(group: str, version: str, kind: str) -> Schema | None:
    """Return the recorded schema of a built-in kind; None if the kind is unknown.

    Args:
        group: The API group; empty for the core group.
        version: The API version, such as `v1`.
        kind: The kind, such as `Node`.
    """
    return _recorded().get((group, version, kind))
