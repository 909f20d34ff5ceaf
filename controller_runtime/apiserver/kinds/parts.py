# SPDX-License-Identifier: Apache-2.0
"""The subresources: which verbs each has, and the kind that is sent there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from controller_runtime.apiserver.kinds.kind import Kind

BINDING = Kind(group="", version="v1", kind="Binding", plural="bindings", verbs=("create",))
SCALE = Kind(group="autoscaling", version="v1", kind="Scale", plural="scales", verbs=("get", "patch", "update"))
TOKEN_REQUEST = Kind(
    group="authentication.k8s.io", version="v1", kind="TokenRequest", plural="tokenrequests", verbs=("create",)
)
EVICTION = Kind(group="policy", version="v1", kind="Eviction", plural="evictions", verbs=("create",))


class Part(NamedTuple):
    """One subresource.

    Attributes:
        verbs: The verbs that are allowed, in the order of discovery.
        kind: The kind that is sent and returned there; None if it is the object itself.
    """

    verbs: tuple[str, ...]
    kind: Kind | None = None


PARTS: Mapping[str, Part] = {
    "binding": Part(("create",), BINDING),
    "eviction": Part(("create",), EVICTION),
    "finalize": Part(("update",)),
    "scale": Part(SCALE.verbs, SCALE),
    "token": Part(("create",), TOKEN_REQUEST),
    "status": Part(("get", "patch", "update")),
}
