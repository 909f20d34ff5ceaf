# SPDX-License-Identifier: Apache-2.0
"""The rights of a ring's member, and what to do without one of them. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import LEASES, Resource
from controller_runtime.ring.records import map_name


@attrs.frozen
class RingRight:
    """One right of a ring member: a verb on a resource.

    Attributes:
        verb: The verb.
        resource: The resource.
        namespace: The namespace; empty for all, and for cluster-scoped resources.
        name: The name of the only object to which it applies; empty for all.
        is_vital: Whether a member cannot work without this right. Without another one it only sees changes late, or
            does not clean up.
        advice: How to get the right, for messages.
    """

    verb: str
    resource: Resource[Any]
    namespace: str
    name: str
    is_vital: bool
    advice: str

    def __str__(self) -> str:
        group, where = self.resource.group, f" in the namespace {self.namespace}" if self.namespace else ""
        what = f"{self.resource.plural}.{group}" if group else self.resource.plural
        return f"{self.verb} {what}{f' named {self.name}' if self.name else ''}{where}"

    def attributes(self) -> dict[str, str]:
        """Return the `resourceAttributes` of an access review for this right."""
        found = {"verb": self.verb, "group": self.resource.group, "resource": self.resource.plural}
        return {**found, **{k: v for k, v in (("namespace", self.namespace), ("name", self.name)) if v}}


def ring_rules(ring: str) -> list[dict[str, Any]]:
    """Return the RBAC rules that a member needs, for a Role in the ring's namespace.

    The right to create cannot be limited by name, and the names of members' leases are not known in advance.

    Args:
        ring: The ring's name.
    """
    maps, leases = CONFIG_MAPS, LEASES
    named = {"resourceNames": [map_name(ring)], "verbs": ["get", "list", "watch", "update"]}
    return [
        {"apiGroups": [maps.group], "resources": [maps.plural], "verbs": ["create"]},
        {"apiGroups": [maps.group], "resources": [maps.plural], **named},
        {
            "apiGroups": [leases.group],
            "resources": [leases.plural],
            "verbs": ["list", "watch", "create", "update", "delete"],
        },
    ]


def rights_of(ring: str, namespace: str, asked_by_name: Iterable[tuple[Resource[Any], str]] = ()) -> list[RingRight]:
    """Return the rights that a member needs: one for each verb of `ring_rules`, and the right to get objects by name.

    Args:
        ring: The ring's name.
        namespace: The namespace of its ConfigMap and leases.
        asked_by_name: Kinds whose objects the ring looks up on the server before it treats them as deleted, each with
            the namespace of its cache.
    """
    not_vital = {(CONFIG_MAPS, "list"), (CONFIG_MAPS, "watch"), (LEASES, "watch"), (LEASES, "delete")}
    kinds = {(kind.group, kind.plural): kind for kind in (CONFIG_MAPS, LEASES)}
    found = []
    for rule in ring_rules(ring):
        kind = kinds[rule["apiGroups"][0], rule["resources"][0]]
        for verb in rule["verbs"]:
            for name in rule.get("resourceNames", [""]):
                is_vital = (kind, verb) not in not_vital
                found.append(RingRight(verb, kind, namespace, name, is_vital, advice(ring, namespace)))
    text = advice_on_objects(ring)
    return found + [RingRight("get", kind, where, "", True, text) for kind, where in asked_by_name]


def role_name(ring: str) -> str:
    """Return the name of the Role with the rules of a ring, in its namespace."""
    return f"{ring}-ring"


def objects_role_name(ring: str) -> str:
    """Return the name of the roles with the right to get the objects of a ring by uid or owner."""
    return f"{role_name(ring)}-objects"


def advice(ring: str, namespace: str) -> str:
    """Return a sentence for people whose program lacks the rights of a ring's Role: which Role and binding to apply."""
    return (
        f"a member of a ring needs the Role {role_name(ring)} in the namespace {namespace}, which "
        "`python -m controller_runtime manifests PROGRAM --ring` makes: apply it"
    )


def advice_on_objects(ring: str) -> str:
    """Return a sentence for people whose program lacks the right to get objects by name: which role to apply."""
    return (
        "a member of a ring by uid or owner asks whether an object is gone, for which it needs the role "
        f"{objects_role_name(ring)}, which `python -m controller_runtime manifests PROGRAM --ring` makes: apply it"
    )
