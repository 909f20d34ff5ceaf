# SPDX-License-Identifier: Apache-2.0
"""From what the requests of one manager asked to the accesses that its program needs on any cluster. Pure functions.

The names and namespaces in requests are those of a test's objects. Only those that the program itself knows are kept:
its election's lease, its rings, the definitions of its classes, what it declares, and the namespaces of its caches.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from typing import Any

import attrs

from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS, built_in
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES, Resource
from controller_runtime.crd.definitions import DEFINITIONS
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.rights import Right
from controller_runtime.rights.access import Access, granted_by, minimal
from controller_runtime.rights.asked import AskedAccess, Blocked
from controller_runtime.ring.records import RING_LABEL, map_name
from controller_runtime.ring.rights import ring_rules

# The library's own requests, all of them, since a short test shows only a part: leases are renewed, events repeated.
_OF_LEASES = _OF_RECORDS = ("get", "create", "update")
_OF_CANDIDATES = ("list", "watch", "create", "patch", "delete")
_OF_EVENTS = ("create", "patch")
_EVENT_GROUPS = ("", "events.k8s.io")

_WITHOUT_NAMES = ("create", "list", "watch", "deletecollection")


@attrs.frozen(kw_only=True)
class BoundedProgram:
    """The names and namespaces of a manager, to which its rights are limited.

    Attributes:
        namespace: The namespace to which the manager is limited; empty for none.
        lease: The lease of its leader election; None without election.
        collections: The collections that it caches.
        declared: The rights that it declares.
        definitions: The names of the definitions that it installs or reads.
        rings: The rings of which it is a member.
        record: The ConfigMap of its deletion budgets; None without budgets.
        has_record: Whether the program names this ConfigMap itself. Roles for a default one are made with the
            manifests.
        asked_by_name: The kinds whose objects a ring gets by name, to see whether they are gone.
    """

    namespace: str = ""
    lease: ObjectKey | None = None
    collections: tuple[Collection, ...] = ()
    declared: tuple[Right, ...] = ()
    definitions: frozenset[str] = frozenset()
    rings: tuple[ObjectKey, ...] = ()
    record: ObjectKey | None = None
    has_record: bool = True
    asked_by_name: frozenset[Resource[Any]] = frozenset()

    @functools.cached_property
    def _namespaces(self) -> dict[tuple[str, str], set[str]]:
        """The namespaces of the caches of each namespaced resource, without those of elections and rings."""
        found: dict[tuple[str, str], set[str]] = {}
        for collection in self.collections:
            key = collection.resource.group, collection.resource.plural
            if collection in self._of_rings or self._is_of_election(*key, collection.namespace):
                continue
            if collection.resource.namespaced:
                found.setdefault(key, set()).add(collection.namespace)
        return found

    @functools.cached_property
    def _of_rings(self) -> set[Collection]:
        return {
            collection.normalized()
            for ring in self.rings
            for collection in (
                Collection(LEASES, ring.namespace, label_selector=f"{RING_LABEL}={ring.name}"),
                Collection(CONFIG_MAPS, ring.namespace, field_selector=f"metadata.name={map_name(ring.name)}"),
            )
        }

    def ring_of(self, asked: AskedAccess) -> ObjectKey | None:
        """Return the key of a ring of this program whose own rights allow a request; None if no ring allows it."""
        for ring in self.rings:
            # A list or watch of the assignment names it by a selector.
            wanted = Access(asked.namespace, asked.group, asked.resource, asked.verb, asked.name or map_name(ring.name))
            if any(each.covers(wanted) for each in _ring_accesses(ring)):
                return ring
        return None

    def _is_of_election(self, group: str, plural: str, namespace: str, name: str = "") -> bool:
        if self.lease is None or namespace != self.lease.namespace:
            return False
        if (group, plural) == (LEASES.group, LEASES.plural):
            return name == self.lease.name
        return (group, plural) == (LEASE_CANDIDATES.group, LEASE_CANDIDATES.plural)

    def _is_record(self, asked: AskedAccess) -> bool:
        kind, key = (asked.group, asked.resource), ObjectKey(asked.name, asked.namespace)
        return kind == (CONFIG_MAPS.group, CONFIG_MAPS.plural) and key == self.record

    def _is_limited(self) -> bool:
        """Return whether the program is meant for some namespaces: its option, or those of all its caches."""
        namespaces = {*itertools.chain.from_iterable(self._namespaces.values())}
        return bool(self.namespace) or (bool(namespaces) and "" not in namespaces)

    def completed(self, asked: AskedAccess) -> list[AskedAccess]:
        """Return the rights for a request: for one that the library itself makes, all that it may need on that
        resource.
        """
        verbs: tuple[str, ...] = (asked.verb,)
        if self._is_of_election(asked.group, asked.resource, asked.namespace, asked.name):
            verbs += _OF_LEASES if asked.resource == LEASES.plural else _OF_CANDIDATES
        elif self._is_record(asked):
            verbs = _OF_RECORDS if self.has_record else ()
        elif asked.resource == "events" and asked.group in _EVENT_GROUPS and asked.verb in _OF_EVENTS:
            verbs += _OF_EVENTS
        elif asked.verb == "list":
            kinds = ((kind.group, kind.plural) for kind in self.asked_by_name)
            verbs += ("get",) if (asked.group, asked.resource) in kinds else ()
        return [asked._replace(verb=verb) for verb in verbs]

    def access_to(self, asked: AskedAccess) -> Access:
        """Return the access that a role needs for a request.

        The access is limited to the request's name and namespace only if the program itself determines these.
        """
        if asked.path:
            return Access("", "", "", asked.verb, path=asked.path)
        plural = asked.resource.partition("/")[0]
        name = asked.name if asked.verb not in _WITHOUT_NAMES and self._knows(asked, plural) else ""
        return Access(self._place_of(asked, plural), asked.group, asked.resource, asked.verb, name)

    def _knows(self, asked: AskedAccess, plural: str) -> bool:
        if (asked.group, plural) == (DEFINITIONS.group, DEFINITIONS.plural) and asked.name in self.definitions:
            return True
        if self._is_record(asked):
            return True
        if plural == LEASES.plural and self._is_of_election(asked.group, plural, asked.namespace, asked.name):
            return True
        return any(
            asked.name in right.names and right.namespace in ("", asked.namespace)
            for right in self._declared(asked.group, plural)
        )

    def _place_of(self, asked: AskedAccess, plural: str) -> str:
        if not asked.namespace or self._is_of_election(asked.group, plural, asked.namespace, asked.name):
            return asked.namespace
        if self._is_record(asked):
            return asked.namespace
        if any(right.namespace == asked.namespace for right in self._declared(asked.group, plural)):
            return asked.namespace
        cached = self._namespaces.get((asked.group, plural), set())
        if "" in cached:
            return ""
        return asked.namespace if asked.namespace in cached or self._is_limited() else ""

    def _declared(self, group: str, plural: str) -> list[Right]:
        return [each for each in self.declared if (each.resource.group, each.resource.plural) == (group, plural)]

    def asked_for(self, blocked: Blocked, asked: Iterable[AskedAccess]) -> AskedAccess | None:
        """Return the right for an owner reference, on a server that requires one; None if an update probably did not
        add it.

        An update writes the whole object. So it counts as adding an owner only if the program makes requests for the
        kind of the owner; otherwise the object had that owner before.
        """
        known = {(each.group, each.resource.partition("/")[0]) for each in asked}
        resource = self._resource_of(blocked)
        if blocked.is_update and (resource.group, resource.plural) not in known:
            return None
        namespace = blocked.namespace if resource.namespaced else ""
        return AskedAccess("update", resource.group, f"{resource.plural}/finalizers", namespace, blocked.name)

    def _resource_of(self, blocked: Blocked) -> Resource[Any]:
        """Return the resource of an owner's kind: one that is cached, a built-in one, or one of the usual plural."""
        cached = [collection.resource for collection in self.collections]
        for resource in [*cached, *built_in()]:
            if (resource.group, resource.kind) == (blocked.group, blocked.kind):
                return resource
        return Resource(blocked.group, "v1", blocked.kind, _plural(blocked.kind.lower()))


@functools.cache
def _ring_accesses(ring: ObjectKey) -> frozenset[Access]:
    metadata = {"name": ring.name, "namespace": ring.namespace}
    return frozenset(granted_by([{"kind": "Role", "metadata": metadata, "rules": ring_rules(ring.name)}]))


def _plural(kind: str) -> str:
    """Return the plural by which most kinds are named."""
    if kind.endswith("s"):
        return f"{kind}es"
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def program_of(manager: Manager) -> BoundedProgram:
    """Return the current names and namespaces of a manager."""
    return BoundedProgram(
        namespace=manager.namespace,
        lease=None if manager.elector is None else manager.elector.lock.key,
        collections=tuple(manager.informers.collections),
        declared=tuple(manager.declared),
        definitions=manager.definitions.names,
        record=(manager.deletions.named or manager.deletions.default) if manager.deletions.budgets else None,
        has_record=manager.deletions.named is not None,
        rings=tuple(ObjectKey(ring.config.name, ring.config.namespace) for ring in manager.rings),
        asked_by_name=frozenset(kind for ring in manager.rings for kind in ring.asked_by_name),
    )


def accesses(program: BoundedProgram, asked: Iterable[AskedAccess], blocked: Iterable[Blocked] = ()) -> set[Access]:
    """Return the accesses that allow the requests of a manager of this program, without those that others include."""
    every = [*asked]
    rings = {one: ring for one in every if (ring := program.ring_of(one)) is not None}
    some = [each for one in every if one not in rings for each in program.completed(one)]
    owners = [program.asked_for(each, every) for each in blocked]
    own = [program.access_to(each) for each in [*some, *(owner for owner in owners if owner is not None)]]
    return minimal([*own, *(access for ring in rings.values() for access in _ring_accesses(ring))])
