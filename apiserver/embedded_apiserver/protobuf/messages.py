# SPDX-License-Identifier: Apache-2.0
"""The messages of protobuf: the numbers of their fields, their types, and those that JSON writes in another way.

Types come from the recorded schemas, field numbers from a table next to them. Reader and writer share both.
"""

from __future__ import annotations

import functools
import gzip
from collections import ChainMap
from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple, cast

import msgspec

from apimachinery.schema import Library, Schema, definitions

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
"""The prefix of the names of messages that all groups share."""

DISCOVERY = "io.k8s.api.apidiscovery.v2."
"""The prefix of the names of the messages of aggregated discovery."""

TIME = f"{META}Time"
MICRO_TIME = f"{META}MicroTime"
FIELDS = f"{META}FieldsV1"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
RAW = "io.k8s.apimachinery.pkg.runtime.RawExtension"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

_NUMBERS = "data/protobuf-numbers.json.gz"
_REF = "#/components/schemas/"
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

JSON = f"{_EXTENSIONS}JSON"
OR_ARRAY, OR_BOOL, OR_STRINGS = (f"{_EXTENSIONS}JSONSchemaPropsOr{name}" for name in ("Array", "Bool", "StringArray"))


class Either(NamedTuple):
    """The two field numbers of a protobuf message that holds one of two values, where JSON has just that value.

    For example, JSON has a schema or `true` in `additionalProperties`; the message has a field for each.

    Attributes:
        schema: The number of the field with a nested schema.
        other: The number of the field for the other value: schemas, strings or a boolean.
    """

    schema: int
    other: int


EITHER: Mapping[str, Either] = {OR_ARRAY: Either(1, 2), OR_BOOL: Either(2, 1), OR_STRINGS: Either(1, 2)}

WRAPPED_LISTS = frozenset({(f"{META}APIResource", "verbs")})
"""Lists, by message and field, that stand in a message of their own. Lists in maps do so, too."""

SCALARS = ("integer", "boolean")
"""The types that are numbers on the wire."""


class MessageField(NamedTuple):
    """A field of a protobuf message.

    Attributes:
        number: The field number.
        name: The name in JSON; empty if the fields of a nested message belong to the parent object in JSON.
        message: The name of such a nested message; empty for other fields.
        is_pointer: True if the field is a pointer in Go, so that a zero value differs from an absent one.
    """

    number: int
    name: str
    message: str
    is_pointer: bool


@functools.cache
def numbers() -> Mapping[str, Mapping[str, str]]:
    """Return the name in JSON of each field, by message and field number.

    A `*` before the name means that a zero value is kept. A text that begins with `=` is the name of a nested message,
    whose fields belong to the parent object in JSON.
    """
    packed = resources.files(__package__).joinpath(_NUMBERS).read_bytes()
    table: dict[str, dict[str, str]] = msgspec.json.decode(gzip.decompress(packed))
    return table


@functools.cache
def targets(message: str) -> Mapping[int, MessageField]:
    """Return the fields of a message by number, in ascending order; empty for an unknown message."""
    found = {}
    for number, text in sorted((int(key), text) for key, text in numbers().get(message, {}).items()):
        name = "" if text.startswith("=") else text.removeprefix("*")
        found[number] = MessageField(number, name, text[1:] if not name else "", text != name)
    return found


@functools.cache
def schema_of(message: str) -> Schema:
    """Return the schema of a protobuf message, by the message's name.

    Raises:
        KeyError: There is no message with this name.
    """
    return Schema({"$ref": _REF + message}, _library())


@functools.cache
def _library() -> Library:
    recorded = cast("dict[str, Mapping[str, Any]]", definitions())  # a ChainMap writes to its first map alone
    return Library(ChainMap(_unrecorded(), recorded))


def _unrecorded() -> dict[str, Mapping[str, Any]]:
    """Return the messages that no recorded schema refers to: of metadata only, and of discovery."""
    text, texts = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    address = {"clientCIDR": text, "serverAddress": text}
    version = {"groupVersion": text, "version": text}
    addresses = _list(f"{META}ServerAddressByClientCIDR")
    versions = {
        "versions": _list(f"{META}GroupVersionForDiscovery"),
        "preferredVersion": _one(f"{META}GroupVersionForDiscovery"),
    }
    names = {"singularResource": text, "shortNames": texts, "categories": texts}
    answered = {"verbs": texts, "responseKind": _one(f"{META}GroupVersionKind")}
    messages: dict[str, dict[str, Any]] = {
        f"{META}PartialObjectMetadata": {"metadata": _one(f"{META}ObjectMeta")},
        f"{META}ServerAddressByClientCIDR": address,
        f"{META}GroupVersionForDiscovery": version,
        f"{META}GroupVersionKind": {"group": text, "version": text, "kind": text},
        f"{META}APIVersions": {"versions": texts, "serverAddressByClientCIDRs": addresses},
        f"{META}APIGroup": {"name": text, **versions, "serverAddressByClientCIDRs": addresses},
        f"{META}APIGroupList": {"groups": _list(f"{META}APIGroup")},
        f"{DISCOVERY}APIGroupDiscoveryList": {
            "metadata": _one(f"{META}ListMeta"),
            "items": _list(f"{DISCOVERY}APIGroupDiscovery"),
        },
        f"{DISCOVERY}APIGroupDiscovery": {
            "metadata": _one(f"{META}ObjectMeta"),
            "versions": _list(f"{DISCOVERY}APIVersionDiscovery"),
        },
        f"{DISCOVERY}APIVersionDiscovery": {
            "version": text,
            "resources": _list(f"{DISCOVERY}APIResourceDiscovery"),
            "freshness": text,
        },
        f"{DISCOVERY}APIResourceDiscovery": {
            "resource": text,
            "scope": text,
            **names,
            **answered,
            "subresources": _list(f"{DISCOVERY}APISubresourceDiscovery"),
        },
        f"{DISCOVERY}APISubresourceDiscovery": {
            "subresource": text,
            **answered,
            "acceptedTypes": _list(f"{META}GroupVersionKind"),
        },
    }
    return {name: {"type": "object", "properties": properties} for name, properties in messages.items()}


def _one(message: str) -> dict[str, Any]:
    return {"$ref": _REF + message}


def _list(message: str) -> dict[str, Any]:
    return {"type": "array", "items": _one(message)}
