# SPDX-License-Identifier: Apache-2.0
"""The bodies of requests: dicts, official models and structs, completed and encoded as JSON.

Every time is written in UTC with six digits of a second. A MicroTime needs them, and `isoformat`, which the
models would use, leaves out a fraction that is zero; a Time may have them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from apimachinery.models import fields_of, is_model
from apimachinery.objects import HasMetadata, ObjectKey, ObjectMeta, microtime
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.client.subresources import kind_of
from controller_runtime.crd.types import CustomResource, Struct

Body = Mapping[str, Any] | HasMetadata
"""An object to write: a dict, an official model, or a `msgspec.Struct` with the API's names of fields."""

Target = Kind[Any] | CustomResource
"""The object of a write: a resource, a declared class, or an object of such a class."""


def target(kind: Target, obj: Body | None) -> tuple[Resource[Any], Body]:
    """Return the resource and the object of a write.

    Args:
        kind: The resource, its declared class, or (with `obj` None) an object of a declared class.
        obj: The object; None if `kind` is the object.

    Raises:
        TypeError: There is no object, or `kind` is not a kind.
        ValueError: The object is of another kind.
    """
    if isinstance(kind, CustomResource):
        return resource_of(type(kind)), kind
    resource = resource_of(kind)
    if obj is None:
        raise TypeError(f"{resource}: give the object to write")
    if isinstance(obj, CustomResource) and resource_of(type(obj)) != resource:
        raise ValueError(f"{resource}: the object is a {type(obj).__name__}")
    return resource, obj


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return microtime(value)
    if is_model(value):
        return fields_of(value)
    if isinstance(value, Struct | ObjectMeta):
        from controller_runtime.crd.writing import written  # only programs with declared classes need it

        return written(value)
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, builtin_types=(datetime,))
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


_encoder = json.JSONEncoder(default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encoded(value: Any) -> bytes:
    """Return `value` encoded as JSON in UTF-8.

    Raises:
        TypeError: A part of `value` cannot be written as JSON.
        ValueError: A time has no time zone, or a number is infinite or not a number.
    """
    return _encoder.encode(value).encode()


def mapping_of(body: Body) -> dict[str, Any]:
    """Return an object as a dict, with the API's field names as keys. The dict is new; its values may be the object's.

    Raises:
        TypeError: `body` is not an object.
    """
    plain = dict(body) if isinstance(body, Mapping) else _plain(body)
    if not isinstance(plain, dict):
        raise TypeError(f"a {type(body).__name__} is not an object")
    return plain


def typed(resource: Resource[Any], obj: Body, subresource: str = "") -> dict[str, Any]:
    """Return an object as a new dict with `apiVersion` and `kind`; its metadata is a new dict, too.

    Args:
        resource: The object's resource.
        obj: The object, or the body of a subresource.
        subresource: The name of the subresource, which decides the kind of the body; see `kind_of`.
    """
    kind = kind_of(resource, subresource)
    body = {"apiVersion": kind.api_version, "kind": kind.kind, **without_nones(**mapping_of(obj))}
    metadata = body.get("metadata")
    if metadata is not None:
        body["metadata"] = mapping_of(metadata)
    return body


def with_key(body: Mapping[str, Any], key: ObjectKey) -> dict[str, Any]:
    """Return a copy of the body with the name and namespace of `key`, where its metadata does not have them already."""
    own = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {**body, "metadata": {**own, **(body.get("metadata") or {})}}


def key_of(body: Mapping[str, Any]) -> ObjectKey:
    """Return the name and namespace from the metadata of a body made by `typed`; an absent one is empty."""
    metadata = body.get("metadata") or {}
    return ObjectKey(str(metadata.get("name") or ""), str(metadata.get("namespace") or ""))


def without_nones(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
