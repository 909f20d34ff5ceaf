# SPDX-License-Identifier: Apache-2.0
"""The rights of a ring's member, and what a refusal of one of them says."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import LEASES
from controller_runtime.core.errors import Forbidden


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


@contextlib.contextmanager
def explained(ring: str, namespace: str) -> Iterator[None]:
    """Let a refusal say where the rights of a ring are.

    Raises:
        Forbidden: The code inside raised it.
    """
    try:
        yield
    except Forbidden as error:
        text = (
            f"{error}: a member of a ring needs the Role {role_name(ring)} in the namespace {namespace}, which "
            "`python -m controller_runtime manifests PROGRAM --ring` makes: apply it"
        )
        raise Forbidden(text, code=error.code, reason=error.reason, details=error.details) from None
