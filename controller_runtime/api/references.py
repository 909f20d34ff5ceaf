# SPDX-License-Identifier: Apache-2.0
"""References from one object to another: the object that an event is about, and the owners of an object.

The API server does not enforce that an object has at most one controller and no owner in another namespace,
and the garbage collector deletes objects whose owner it cannot find. So these rules are enforced here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from apimachinery.errors import AlreadyOwned
from apimachinery.objects import AnyObject, Cached, OwnerReference, meta
from controller_runtime.api.resources import Kind, resource_of


@attrs.frozen(kw_only=True)
class Reference:
    """A reference to one object, or to a part of it.

    The reference has no resourceVersion, so it stays equal as the object changes.

    Attributes:
        api_version: The object's `apiVersion`.
        kind: The object's `kind`.
        name: The object's name.
        namespace: The object's namespace; empty if it is cluster-scoped.
        uid: The object's uid; empty if it is unknown.
        field_path: The part, such as `spec.containers{web}`; empty for the whole object.
    """

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    field_path: str = ""

    def body(self) -> dict[str, str]:
        """Return the reference as an `ObjectReference` of the API, without empty fields."""
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


def _type_of(obj: AnyObject, resource: Kind[Any] | None) -> tuple[str, str]:
    """Return the apiVersion and the kind, from `resource` if it is given.

    Raises:
        ValueError: `resource` is None and the object does not say them.
    """
    if resource is not None:
        known = resource_of(resource)
        return known.api_version, known.kind
    if isinstance(obj, Cached):
        typed = _typed.decode(obj.raw)
        found = typed.api_version, typed.kind
    elif isinstance(obj, Mapping):
        found = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
    else:  # a model, or a view that declares them
        found = str(getattr(obj, "api_version", None) or ""), str(getattr(obj, "kind", None) or "")
    if not all(found):
        raise ValueError(f"{meta(obj).name}: the {type(obj).__name__} has no apiVersion and kind: pass its resource")
    return found


def reference_to(obj: AnyObject, resource: Kind[Any] | None = None, *, field_path: str = "") -> Reference:
    """Return a reference to an object.

    Args:
        obj: The object, in any form.
        resource: Its collection; needed if the object has no `apiVersion` and `kind`, as views often do.
        field_path: The part of the object to refer to; empty for the whole.

    Raises:
        ValueError: The object has no `apiVersion` and `kind`, and `resource` is None.
        DecodeError: The object has no metadata, or malformed metadata.
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
    """Return the owner reference whose `controller` is true; None if the object has none.

    Raises:
        DecodeError: The object has no metadata, or malformed metadata.
    """
    return next((owner for owner in meta(obj).owner_references or () if owner.controller), None)


def set_owner(body: dict[str, Any], owner: AnyObject, resource: Kind[Any] | None = None) -> None:
    """Make `owner` an owner of `body`. Kubernetes deletes an object once all its owners are gone.

    If `body` has a reference to an owner of the same group, kind and name, that reference is updated and keeps its
    position.

    Args:
        body: The dependent object; it is changed in place.
        owner: The owner as read from the server, so that it has a uid.
        resource: The owner's collection; needed if the owner has no `apiVersion` and `kind`.

    Raises:
        ValueError: The owner has no uid, is in another namespace than `body`, or is of an unknown kind.
    """
    _put(body, _owner_reference(body, owner, resource))


def set_controller(body: dict[str, Any], owner: AnyObject, resource: Kind[Any] | None = None) -> None:
    """Make `owner` the controller of `body`: the only owner that manages it.

    The reference is added or updated as by `set_owner`, with `controller` and `blockOwnerDeletion` set to true. So a
    foreground deletion of the owner waits until `body` is deleted.

    Args:
        body: The managed object, as a dict; its metadata is changed in place.
        owner: The owner as read from the server, so that it has a uid.
        resource: The owner's collection; needed if the owner has no `apiVersion` and `kind`, as an item of a list.

    Raises:
        AlreadyOwned: `body` has another controller.
        ValueError: The owner has no uid, another namespace than `body`, or an unknown kind.
    """
    reference = {**_owner_reference(body, owner, resource), "controller": True, "blockOwnerDeletion": True}
    for other in _owners(body):
        if other.get("controller") and _identity(other) != _identity(reference):
            raise AlreadyOwned(
                f"{_name(body)} is managed by {other['kind']} {other['name']} already, so it cannot be managed by "
                f"{reference['kind']} {reference['name']}"
            )
    _put(body, reference)


def _owner_reference(body: dict[str, Any], owner: AnyObject, resource: Kind[Any] | None) -> dict[str, Any]:
    to = reference_to(owner, resource)
    namespace = (body.get("metadata") or {}).get("namespace") or ""
    if not to.uid:
        raise ValueError(f"{to.kind} {to.name} cannot own {_name(body)}: it has no uid yet")
    if to.namespace and to.namespace != namespace:
        whose = f"namespace {namespace!r}" if namespace else "no namespace"
        raise ValueError(f"{to.kind} {to.namespace}/{to.name} cannot own {_name(body)}, which is in {whose}")
    return {"apiVersion": to.api_version, "kind": to.kind, "name": to.name, "uid": to.uid}


def _put(body: dict[str, Any], reference: dict[str, Any]) -> None:
    owners = {_identity(owner): owner for owner in _owners(body)}
    # Assigning to a key that a dict has keeps its position: the order of the owners stays as it was.
    owners[_identity(reference)] = {**owners.get(_identity(reference), {}), **reference}
    body.setdefault("metadata", {})["ownerReferences"] = [*owners.values()]


def _owners(body: dict[str, Any]) -> list[dict[str, Any]]:
    return (body.get("metadata") or {}).get("ownerReferences") or []


def _identity(reference: dict[str, Any]) -> tuple[str, str, str]:
    """Return group, kind and name; no API version or uid, so an upgraded or recreated owner is the same one."""
    return reference["apiVersion"].rpartition("/")[0], reference["kind"], reference["name"]


def _name(body: dict[str, Any]) -> str:
    metadata = body.get("metadata") or {}
    return str(metadata.get("name") or metadata.get("generateName") or "the object")
