# SPDX-License-Identifier: Apache-2.0
"""The schema and columns of a custom kind, from its `CustomResourceDefinition`.

The schema is kept twice: as it was given, for pruning, defaulting and validation; and as a `Schema`, which merging and
field ownership use for all kinds.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import attrs

from apimachinery.schema import Library, Schema, definitions

Raw = Mapping[str, Any]
"""A schema in OpenAPI v3, as a definition contains it."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_REF = "#/components/schemas/"
# The name of a schema that allows any field; no definition of a real server has this name.
_OPEN = "open"
_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_TYPE_FIELDS: Raw = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


class ScalePaths(NamedTuple):
    """The paths of the fields for a `scale` subresource. The defaults are those of the built-in workloads.

    Attributes:
        wanted: The path of the desired number of replicas.
        present: The path of the current number of replicas.
        selector: The path of the pods' label selector, or of its text; empty if the `Scale` has no selector.
    """

    wanted: tuple[str, ...] = ("spec", "replicas")
    present: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")


WORKLOAD = ScalePaths()
"""The paths of the built-in workloads."""


@attrs.frozen(eq=False)
class Definition:
    """The schema and the table columns of one version of a custom kind.

    Attributes:
        structure: The structural schema as in the CustomResourceDefinition, for pruning, defaulting and validation.
        columns: The `additionalPrinterColumns` as in the CustomResourceDefinition.
        schema: The same schema with the fields that all objects have, for merging and field ownership.
    """

    structure: Raw
    columns: Sequence[Raw]
    schema: Schema

    @classmethod
    def of(cls, group: str, version: str, kind: str, structure: Raw, columns: Sequence[Raw]) -> Definition:
        """Return the definition of one version of a custom kind.

        Args:
            group: The API group.
            version: The API version.
            kind: The kind.
            structure: The structural schema.
            columns: The `additionalPrinterColumns`.
        """
        name = ".".join([*reversed(group.split(".")), version, kind])
        whole = _whole(structure, group, version, kind)
        recorded = cast(
            "dict[str, Raw]", definitions()
        )  # shared, but never written: a ChainMap writes to its first map
        owned: dict[str, Raw] = {name: _ownable(whole), _OPEN: _ownable({_PRESERVES: True})}
        library = Library(ChainMap(owned, recorded))
        return cls(structure, columns, Schema({"$ref": _REF + name}, library))


def _whole(structure: Raw, group: str, version: str, kind: str) -> dict[str, Any]:
    """Return the schema with the fields that every object has: `apiVersion`, `kind` and `metadata`."""
    metadata = {"metadata": {"$ref": f"{_REF}{_META}ObjectMeta"}}
    return {
        **structure,
        "properties": {**_TYPE_FIELDS, **structure.get("properties", {}), **metadata},
        "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind}],
    }


def _ownable(raw: Raw) -> Raw:
    """Return the schema with any field allowed where unknown ones are preserved, so that each can be owned.

    An object without declared fields is one of them, although its fields are pruned once it is stored; and an embedded
    object has the fields of each object.
    """
    made, fields = dict(raw), raw.get("properties", {})
    if raw.get(_EMBEDDED):
        fields = {**fields, **_TYPE_FIELDS, "metadata": {"$ref": f"{_REF}{_META}ObjectMeta"}}
    if fields:
        made["properties"] = {name: _ownable(child) for name, child in fields.items()}
    for name in ("items", "additionalProperties"):
        if isinstance(raw.get(name), Mapping):
            made[name] = _ownable(raw[name])
    is_bare = raw.get("type") == "object" and not fields and "additionalProperties" not in raw
    if raw.get(_PRESERVES) or raw.get("additionalProperties") is True or is_bare:
        made["additionalProperties"] = {"$ref": _REF + _OPEN}
    return made
