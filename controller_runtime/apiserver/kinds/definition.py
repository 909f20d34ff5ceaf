# SPDX-License-Identifier: Apache-2.0
"""What a kind that somebody defined at run time says of its objects, as data.

The schema is kept as it was given, for whoever prunes, fills in and checks, and once more
as a `Schema`, which is how fields of all kinds are merged and owned.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import attrs

from controller_runtime.api.schema import Library, Schema, definitions

Raw = Mapping[str, Any]
"""A schema as it stands in a definition."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_REF = "#/components/schemas/"
_OPEN = "open"  # no definition of a real server has this name
_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_WORDS: Raw = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


class ScalePaths(NamedTuple):
    """Where an object keeps what its scale shows; as the workloads of the API do, unless it is said.

    Attributes:
        wanted: Path to the number of replicas asked for.
        present: Path to the number there is.
        selector: Path to the selector of their pods, or to its text; empty for none.
    """

    wanted: tuple[str, ...] = ("spec", "replicas")
    present: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")


WORKLOAD = ScalePaths()
"""Where workloads keep it."""


@attrs.frozen(eq=False)
class Definition:
    """One version of a kind defined at run time.

    Attributes:
        structure: Its structural schema, as it was given.
        columns: Its `additionalPrinterColumns`, as they were given.
        schema: The same schema, as objects are merged and owned by it.
    """

    structure: Raw
    columns: Sequence[Raw]
    schema: Schema

    @classmethod
    def of(cls, group: str, version: str, kind: str, structure: Raw, columns: Sequence[Raw]) -> Definition:
        """The definition of a kind by its schema and columns."""
        name = ".".join([*reversed(group.split(".")), version, kind])
        whole = _whole(structure, group, version, kind)
        recorded = cast("dict[str, Raw]", definitions())  # which nobody writes to: a chain writes to its first map
        owned: dict[str, Raw] = {name: _ownable(whole), _OPEN: _ownable({_PRESERVES: True})}
        library = Library(ChainMap(owned, recorded))
        return cls(structure, columns, Schema({"$ref": _REF + name}, library))


def _whole(structure: Raw, group: str, version: str, kind: str) -> dict[str, Any]:
    """The schema with the fields that every object has."""
    metadata = {"metadata": {"$ref": f"{_REF}{_META}ObjectMeta"}}
    return {
        **structure,
        "properties": {**_WORDS, **structure.get("properties", {}), **metadata},
        "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind}],
    }


def _ownable(raw: Raw) -> Raw:
    """The schema with an open end wherever fields stand that it does not know, for those are owned one by one, too."""
    made = dict(raw)
    if "properties" in raw:
        made["properties"] = {name: _ownable(child) for name, child in raw["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(raw.get(name), Mapping):
            made[name] = _ownable(raw[name])
    if raw.get(_PRESERVES) or raw.get("additionalProperties") is True:
        made["additionalProperties"] = {"$ref": _REF + _OPEN}
    return made
