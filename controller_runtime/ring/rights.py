# SPDX-License-Identifier: Apache-2.0
"""The rights of a ring's member, and what to do without one of them."""

from __future__ import annotations

from typing import Any

from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import LEASES


def ring_rules(ring: str) -> list[dict[str, Any]]:
    """Return the rules of a member, for a Role in the ring's namespace.

    A creation cannot be bounded by a name, and the names of members' leases are not known before they run.

    Args:
        ring: The ring's name.
    """
    maps, leases = CONFIG_MAPS, LEASES
    named = {"resourceNames": [ring], "verbs": ["get", "list", "watch", "update"]}
    return [
        {"apiGroups": [maps.group], "resources": [maps.plural], "verbs": ["create"]},
        {"apiGroups": [maps.group], "resources": [maps.plural], **named},
        {
            "apiGroups": [leases.group],
            "resources": [leases.plural],
            "verbs": ["list", "watch", "create", "update", "delete"],
        },
    ]


def role_name(ring: str) -> str:
    """Return the name of the Role with the rules of a ring, in its namespace."""
    return f"{ring}-ring"


def advice(ring: str, namespace: str) -> str:
    """Return what to do where a member has not its rights."""
    return (
        f"a member of a ring needs the Role {role_name(ring)} in the namespace {namespace}, which "
        "`python -m controller_runtime manifests PROGRAM --ring` makes: apply it"
    )
