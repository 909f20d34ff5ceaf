# SPDX-License-Identifier: Apache-2.0
"""Pointing at objects: what an event is about, and who owns what.

Pure edits of dicts; the server enforces none of the rules about owners, so they are
kept here: one controller, and no owner in another namespace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from controller_runtime.api.objects import AnyObject, Cached, OwnerReference, meta
from controller_runtime.api.resources import Resource
from controller_runtime.core.errors import AlreadyOwned


@attrs.frozen(kw_only=True)
class Reference:
    """One object, whatever its version; equal for what is the same object.

    Attributes:
        api_version: As objects carry it.
        kind: As objects carry it.
        name: Its name.
        namespace: Empty for cluster-scoped objects.
        uid: Empty if unknown.
        field_path: A part of the object, such as `spec.containers{web}`; empty for the whole.
    """

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    field_path: str = ""

    def body(self) -> dict[str, str]:
        """As an `ObjectReference` of the API."""
        fields = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
            "fieldPath": self.field_path,
        }
        return {name: value for name, value in fields.items() if value}


class _Typed(msgspec.Struct, gc=False, rename="camel"):
    kind: str = ""
    api_version: str = ""


_typed = msgspec.json.Decoder(_Typed)


def _type_of(obj: AnyObject, resource: Resource[Any] | None) -> tuple[str, str]:
    """The apiVersion and the kind."""
    if resource is not None:
        return resource.api_version, resource.kind
    if isinstance(obj, Cached):
        typed = _typed.decode(obj.raw)
        found = typed.api_version, typed.kind
    elif isinstance(obj, Mapping):
        found = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
    else:  # a model, or a view that declares them
        found = str(getattr(obj, "api_version", None) or ""), str(getattr(obj, "kind", None) or "")
    if not all(found):
        raise ValueError(f"{meta(obj).name}: the {type(obj).__name__} does not say its apiVersion and kind: name them")
    return found


def reference_to(obj: AnyObject, resource: Resource[Any] | None = None, *, field_path: str = "") -> Reference:
    """A reference to any form of an object.

    Args:
        obj: The object.
        resource: Its collection; needed only where the object does not say its kind itself.
        field_path: A part of it.

    Raises:
        ValueError: Its kind is unknown.
        DecodeError: It has no metadata.
    """
    api_version, kind = _type_of(obj, resource)
    metadata = meta(obj)
    return Reference(
        api_version=api_version,
        kind=kind,
        name=metadata.name,
        namespace=metadata.namespace,
        uid=metadata.uid,
        field_path=field_path,
    )


def controller_of(obj: AnyObject) -> OwnerReference | None:
    """The one owner that manages the object, if there is one."""
    return next((owner for owner in meta(obj).owner_references or () if owner.controller), None)


def set_owner(body: dict[str, Any], owner: AnyObject, resource: Resource[Any] | None = None) -> None:
    """Make `owner` one of the owners of `body`, which is garbage once all of them are gone.

    A reference to an owner of that name is brought up to date where it stands.

    Args:
        body: The dependent, edited in place.
        owner: As the server knows it, so with a uid.
        resource: The owner's collection, where the owner does not say its kind itself.

    Raises:
        ValueError: The owner has no uid, or lives in another namespace.
    """
    _put(body, _owner_reference(body, owner, resource))


def set_controller(body: dict[str, Any], owner: AnyObject, resource: Resource[Any] | None = None) -> None:
    """Make `owner` the one owner that manages `body`, as `set_owner` does; deleting it in the foreground waits.

    Raises:
        AlreadyOwned: Another controller manages it.
        ValueError: The owner has no uid, or lives in another namespace.
    """
    reference = {**_owner_reference(body, owner, resource), "controller": True, "blockOwnerDeletion": True}
    for other in _owners(body):
        if other.get("controller") and _identity(other) != _identity(reference):
            raise AlreadyOwned(
                f"{_name(body)} is managed by {other['kind']} {other['name']}, so not by "
                f"{reference['kind']} {reference['name']}"
            )
    _put(body, reference)


def _owner_reference(body: dict[str, Any], owner: AnyObject, resource: Resource[Any] | None) -> dict[str, Any]:
    to = reference_to(owner, resource)
    namespace = (body.get("metadata") or {}).get("namespace") or ""
    if not to.uid:
        raise ValueError(f"{to.kind} {to.name} cannot own {_name(body)}: it has no uid yet")
    if to.namespace and to.namespace != namespace:
        whose = f"namespace {namespace!r}" if namespace else "no namespace"
        raise ValueError(f"{to.kind} {to.namespace}/{to.name} cannot own {_name(body)}, which is of {whose}")
    return {"apiVersion": to.api_version, "kind": to.kind, "name": to.name, "uid": to.uid}


def _put(body: dict[str, Any], reference: dict[str, Any]) -> None:
    owners = {_identity(owner): owner for owner in _owners(body)}
    # A key that is there keeps its place.
    owners[_identity(reference)] = {**owners.get(_identity(reference), {}), **reference}
    body.setdefault("metadata", {})["ownerReferences"] = [*owners.values()]


def _owners(body: dict[str, Any]) -> list[dict[str, Any]]:
    return (body.get("metadata") or {}).get("ownerReferences") or []


def _identity(reference: dict[str, Any]) -> tuple[str, str, str]:
    """Group, kind and name: an owner stays the owner in another version, and made anew."""
    return reference["apiVersion"].rpartition("/")[0], reference["kind"], reference["name"]


def _name(body: dict[str, Any]) -> str:
    metadata = body.get("metadata") or {}
    return str(metadata.get("name") or metadata.get("generateName") or "the object")
