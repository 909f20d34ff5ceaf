# SPDX-License-Identifier: Apache-2.0
"""Cells of bindings of roles."""

from __future__ import annotations

from embedded_apiserver.kinds.cells import (
    NAMED,
    Cell,
    Cells,
    of,
)
from embedded_apiserver.objects import Object


def _subjects(kind: str) -> Cell:
    def name(subject: Object) -> str:
        namespace = subject.get("namespace")
        return f"{namespace}/{subject['name']}" if namespace and kind == "ServiceAccount" else str(subject["name"])

    return of(lambda obj: ", ".join(name(one) for one in obj.get("subjects") or () if one.get("kind") == kind))


BINDINGS: Cells = {
    **NAMED,
    "Role": of(lambda obj: f"{obj['roleRef'].get('kind')}/{obj['roleRef'].get('name')}"),
    "Users": _subjects("User"),
    "Groups": _subjects("Group"),
    "ServiceAccounts": _subjects("ServiceAccount"),
}
