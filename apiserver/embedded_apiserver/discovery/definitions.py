# SPDX-License-Identifier: Apache-2.0
"""The definitions (schemas) in OpenAPI documents: the recorded ones with their descriptions, and those of custom kinds.

The descriptions are several times as large as the rest of the schemas, and only these documents need them. So they are
in a separate file, which is read whenever a document is made and is not kept in memory.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import msgspec

from apimachinery.decoding import decoder_of
from embedded_apiserver.discovery.operations import REF, Texts, list_name
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.recorded import adapted, descriptions_of
from embedded_apiserver.kinds.release import NEWEST, Release

_DATA = "data/descriptions-1.36.json.gz"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_PRESERVES, _EMBEDDED, _INT_OR_STRING = (
    f"x-kubernetes-{name}" for name in ("preserve-unknown-fields", "embedded-resource", "int-or-string")
)
_EMBEDDED_WORDS = {
    "apiVersion": {
        "description": "apiVersion defines the versioned schema of this representation of an object. "
        f"More info: {_CONVENTIONS}#resources",
        "type": "string",
    },
    "kind": {
        "description": "kind is a string value representing the type of this object. In CamelCase. "
        f"More info: {_CONVENTIONS}#types-kinds",
        "type": "string",
    },
}
_CHOICES = ("allOf", "anyOf", "oneOf", "not")

Raw = Mapping[str, Any]
"""A schema in the form of OpenAPI v3."""


class Descriptions(msgspec.Struct):
    """The descriptions in a real API server's OpenAPI documents.

    Attributes:
        definitions: The descriptions by definition and field; an empty field name stands for the definition itself.
        parameters: The descriptions by parameter.
    """

    definitions: dict[str, dict[str, str]]
    parameters: Texts

    @classmethod
    def read(cls, release: Release) -> Descriptions:
        """Read the descriptions of the kinds, fields and parameters of a Kubernetes release.

        It takes a few milliseconds, for the texts are in a compressed file.
        """
        newest = _read(gzip.decompress(resources.files(__package__).joinpath(_DATA).read_bytes()))
        if release == NEWEST:
            return newest
        difference = descriptions_of(str(release))
        return cls(*(adapted(getattr(newest, name), difference.get(name, {})) for name in cls.__struct_fields__))


_read: Callable[[bytes], Descriptions] = decoder_of(Descriptions)


class Published:
    """The schema definitions of one OpenAPI document, by name.

    Args:
        kinds: The kinds in the document. The definitions of custom kinds are added to the recorded ones.
        descriptions: The descriptions for the recorded definitions.
        recorded: The definitions of all built-in types of the release.
    """

    def __init__(self, kinds: tuple[Kind, ...], descriptions: Descriptions, recorded: Mapping[str, Raw]) -> None:
        self._recorded = recorded
        self._texts = descriptions.definitions
        self._versions = dict.fromkeys([("", "v1"), *((kind.group, kind.version) for kind in kinds)])
        self._custom: dict[str, tuple[Kind, bool]] = {}
        for kind in kinds:
            if kind.definition is not None:
                self._custom |= {kind.schema.name: (kind, False), list_name(kind): (kind, True)}

    def find(self, name: str, *, reduced: bool = False) -> Raw | None:
        """Return a definition in the form of OpenAPI v3; None if there is no definition of that name.

        Args:
            name: The full name of the definition.
            reduced: True to leave out the parts of custom kinds that OpenAPI v2 does not support, or that kubectl
                cannot read.
        """
        if (custom := self._custom.get(name)) is None:
            raw = self._recorded.get(name)
            return (
                None if raw is None else {**self._described(raw, self._texts.get(name, {})), **self._additions_to(name)}
            )
        kind, is_list = custom
        schema = self._list(kind) if is_list else self._object(kind, reduced)
        about = {"group": kind.group, "version": kind.version, "kind": kind.list_kind if is_list else kind.kind}
        published = {**schema, "x-kubernetes-group-version-kind": [about]}
        if kind.fields:
            published["x-kubernetes-selectable-fields"] = [{"fieldPath": path} for path in kind.fields]
        return published

    def _additions_to(self, name: str) -> Raw:
        """Return the fields to add to a recorded definition.

        A `DeleteOptions` may be sent in the group and version of the object, so its definition lists those served.
        """
        if name != f"{_META}DeleteOptions":
            return {}
        about = [{"group": group, "version": version, "kind": "DeleteOptions"} for group, version in self._versions]
        return {"x-kubernetes-group-version-kind": about}

    def _described(self, raw: Raw, texts: Texts) -> Raw:
        """Return the definition with the descriptions of itself and its fields."""
        made = {"description": texts[""], **raw} if "" in texts else dict(raw)
        if "properties" in raw:
            made["properties"] = {
                name: {"description": texts[name], **child} if name in texts else child
                for name, child in raw["properties"].items()
            }
        return made

    def _type_fields(self) -> dict[str, Any]:
        """Return the fields `apiVersion` and `kind`, described as in every recorded kind."""
        texts = self._texts["io.k8s.api.core.v1.ConfigMap"]
        return {name: {"type": "string", "description": texts[name]} for name in ("apiVersion", "kind")}

    def _object(self, kind: Kind, reduced: bool) -> Raw:
        assert kind.definition is not None
        structure = kind.definition.structure
        if reduced and structure.get(_PRESERVES):  # kubectl refuses fields that are not listed as soon as any are
            return {"type": "object"}
        schema = _embedding(_without_choices(structure) if reduced else _unfolded(structure))
        return {
            **schema,
            "properties": {**schema.get("properties", {}), **self._type_fields(), "metadata": _metadata()},
        }

    def _list(self, kind: Kind) -> Raw:
        items = {"type": "array", "items": {"$ref": REF + kind.schema.name}}
        metadata = {
            "description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds",
            "allOf": [{"$ref": f"{REF}{_META}ListMeta"}],
        }
        return {
            "description": f"{kind.list_kind} is a list of {kind.kind}",
            "type": "object",
            "required": ["items"],
            "properties": {
                **self._type_fields(),
                "items": {"description": f"List of {kind.plural}. More info: {_CONVENTIONS}", **items},
                "metadata": metadata,
            },
        }


def _metadata() -> dict[str, Any]:
    text = f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"
    return {"description": text, "allOf": [{"$ref": f"{REF}{_META}ObjectMeta"}]}


def _children(raw: Raw, change: Callable[[Raw], Raw]) -> dict[str, Any]:
    """Return the schema with `change` applied to the schemas of its fields, elements and values."""
    made = dict(raw)
    if "properties" in raw:
        made["properties"] = {name: change(child) for name, child in raw["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(raw.get(name), Mapping):
            made[name] = change(raw[name])
    return made


def _unfolded(raw: Raw) -> Raw:
    """Return the schema with both types spelled out wherever an integer or a string may stand."""
    made = _children(raw, _unfolded)
    if raw.get(_INT_OR_STRING):
        either = [{"type": "integer"}, {"type": "string"}]
        first: Raw = next(iter(raw.get("allOf", ())), {})
        if "anyOf" not in raw and first.get("anyOf") != either:
            made["anyOf"] = either
        elif raw.get("anyOf", either) != either:
            made["allOf"] = [{"anyOf": either}, *raw.get("allOf", ())]
    return made


def _embedding(raw: Raw) -> dict[str, Any]:
    """Return the schema with `apiVersion`, `kind` and `metadata` added to embedded objects."""
    made = _children(raw, _embedding)
    if raw.get(_EMBEDDED) and raw.get("type") == "object":  # a reduced schema without a type allows any field already
        made["properties"] = {**made.get("properties", {}), **_EMBEDDED_WORDS, "metadata": _metadata()}
        made["required"] = list(dict.fromkeys((*raw.get("required", ()), "kind", "apiVersion")))
    return made


def _without_choices(raw: Raw) -> Raw:
    """Return the schema without the parts that OpenAPI v2 does not know or kubectl's reader of it refuses."""
    # OpenAPI v2 cannot say that null is allowed: the type of such a field is left out, so that null passes, too.
    dropped = {*_CHOICES, "nullable"}
    if raw.get("nullable"):
        dropped |= {"type", "items", "properties"}
    if raw.get(_PRESERVES):
        dropped |= {"items", "properties"}
    if raw.get("type") == "array" and ("items" not in raw or "items" in dropped):
        dropped.add("type")
    if raw.get(_PRESERVES) and raw.get("type") == "object":
        dropped.add("type")
    made = _children({name: value for name, value in raw.items() if name not in dropped}, _without_choices)
    if "required" in made:
        fields = raw.get("properties", {}) if "properties" in made else {}
        needed = [name for name in made.pop("required") if not _may_be_null(fields.get(name))]
        if needed and not _may_be_null(raw.get("additionalProperties")):
            made["required"] = needed
    return made


def _may_be_null(raw: Any) -> bool:
    return isinstance(raw, Mapping) and bool(raw.get("nullable"))
