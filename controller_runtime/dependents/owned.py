# SPDX-License-Identifier: Apache-2.0
"""The objects that a primary owns: their declaration, and those that one primary should have."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

import attrs
import msgspec

from apimachinery.errors import AlreadyOwned, TerminalError
from apimachinery.objects import AnyObject, Cached, HasMetadata, ObjectKey, meta
from apimachinery.plain_functions import called, plain
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.conditions import ObjectCondition
from controller_runtime.api.readiness import Readiness
from controller_runtime.api.readiness import ready as ready_by_kind
from controller_runtime.api.references import set_controller
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.client.bodies import Body, encoded, key_of, mapping_of, typed

P = TypeVar("P", bound=AnyObject)
C = TypeVar("C")

Desired = Body | Iterable[Body] | None
"""The objects that a primary should have: one object, several or none."""

# The fields of the metadata that a controller decides; all others are the server's.
_METADATA = ("name", "namespace", "labels", "annotations", "finalizers", "ownerReferences")


def _several(after: Owned[Any, Any] | Iterable[Owned[Any, Any]]) -> tuple[Owned[Any, Any], ...]:
    return (after,) if isinstance(after, Owned) else tuple(after)


@attrs.frozen(eq=False, init=False)
class Owned(Generic[P, C]):
    """The objects of one kind that each primary object owns, for `Dependents`.

    Attributes:
        resource: The resource of the objects, or their declared class.
        desired: Returns the objects that a primary should have now: one, several or none, as dicts, models of the
            official client or objects of a declared class. It must be a pure function of the primary. The objects
            should have only the fields that the controller decides; a missing name or namespace is taken from the
            primary.
        ready: Returns whether an object is ready: `ready` for the rules of its kind, `condition(…)`, or a function that
            gets the object as its kind's class.
        after: The declarations whose objects must be ready before these are applied. Existing objects are not changed
            meanwhile.
        force: True takes over fields that another field manager owns. False reports such an object in the condition.
        adopt: True takes over existing objects without a controller. False does not change them.

    Raises:
        UsageError: `desired` or `ready` is an `async def`. A function that returns a coroutine raises this in the
            reconcile.
    """

    resource: Resource[C]
    desired: Callable[[P], Desired]
    ready: Callable[[C], bool] | ObjectCondition | Readiness
    after: tuple[Owned[Any, Any], ...]
    force: bool
    adopt: bool

    def __init__(
        self,
        resource: Kind[C],
        desired: Callable[[P], Desired],
        *,
        ready: Callable[[C], bool] | ObjectCondition | Readiness = ready_by_kind,
        after: Owned[Any, Any] | Iterable[Owned[Any, Any]] = (),
        force: bool = True,
        adopt: bool = False,
    ) -> None:
        plain(f"the desired {resource_of(resource)} of an Owned", desired)
        plain(f"the `ready` of an Owned of {resource_of(resource)}", ready)
        self.__attrs_init__(resource_of(resource), desired, ready, _several(after), force, adopt)

    def unready(self, cached: Cached) -> str:
        """Return why an object is not ready, as a sentence without its subject; empty if it is ready.

        Raises:
            UnreadableObject: The object cannot be decoded into the class that `ready` takes.
        """
        rule = self.ready
        if isinstance(rule, ObjectCondition | Readiness):
            return "" if rule(cached) else rule.state_of(cached)
        is_ready = called("the `ready` of an Owned", rule, decoder_for(None, self.resource)(cached.raw))
        return "" if is_ready else "is not ready"


@attrs.frozen
class Wanted:
    """One object that a primary should have.

    Attributes:
        owned: Its declaration.
        key: Its name and namespace.
        body: The fields to apply, as JSON values, with the owner reference.
        digest: A hash of `body`.
    """

    owned: Owned[Any, Any]
    key: ObjectKey
    body: dict[str, Any] = attrs.field(eq=False)
    digest: bytes

    @property
    def id(self) -> Id:
        """The object's kind and key."""
        return self.owned.resource, self.key

    def __str__(self) -> str:
        return f"{self.owned.resource.kind} {self.key}"


Id = tuple[Resource[Any], ObjectKey]
"""Identifies one object of any kind."""


def wanted_of(declared: Sequence[Owned[Any, Any]], primary: AnyObject, resource: Resource[Any]) -> list[Wanted]:
    """Return all objects that a primary should have, in the order of the declarations.

    Args:
        declared: The declarations.
        primary: The primary as read from the server, so that it has a uid.
        resource: The resource of the primary.

    Raises:
        TerminalError: A function desires an object that the primary cannot own, or the same object twice.
        Exception: A function raised it.
    """
    found: dict[Id, Wanted] = {}
    for owned in declared:
        for body in _bodies(called("the `desired` of an Owned", owned.desired, primary)):
            wanted = _wanted(owned, body, primary, resource)
            if wanted.id in found:
                raise TerminalError(f"{wanted} is wanted twice by {resource.kind} {meta(primary).name}")
            found[wanted.id] = wanted
    return [*found.values()]


def _bodies(desired: Desired) -> Iterable[Body]:
    if desired is None:
        return ()
    if isinstance(desired, Mapping) or hasattr(desired, "metadata"):
        return (cast("Mapping[str, Any] | HasMetadata", desired),)
    return desired


def _wanted(owned: Owned[Any, Any], desired: Body, primary: AnyObject, resource: Resource[Any]) -> Wanted:
    child, owner = owned.resource, meta(primary)
    body = typed(child, desired)
    given = mapping_of(body.get("metadata") or {})
    if (body["apiVersion"], body["kind"]) != (child.api_version, child.kind):
        text = f"{resource.kind} {owner.name} wants a {body['apiVersion']} {body['kind']} among its {child}"
        raise TerminalError(f"{text}: declare an Owned of that kind")
    metadata = {"name": owner.name, **({"namespace": owner.namespace} if child.namespaced and owner.namespace else {})}
    metadata |= {name: given[name] for name in _METADATA if given.get(name)}
    # The status belongs to the controller of the kind.
    body = {**{name: value for name, value in body.items() if name != "status"}, "metadata": metadata}
    if child.namespaced and not metadata.get("namespace"):
        raise TerminalError(f"{child.kind} {metadata['name']} needs a namespace, as its owner has none")
    body = msgspec.json.decode(encoded(body))
    try:
        set_controller(body, primary, resource)
    except (ValueError, AlreadyOwned) as error:
        raise TerminalError(str(error)) from error
    digest = hashlib.sha256(msgspec.json.encode(body, order="deterministic")).digest()
    return Wanted(owned, key_of(body), body, digest)
