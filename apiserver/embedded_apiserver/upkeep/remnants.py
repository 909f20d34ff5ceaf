# SPDX-License-Identifier: Apache-2.0
"""The conditions of a namespace that is being deleted: what is left in it, and which finalizers keep that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apimachinery.objects import timestamp
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.upkeep.ownership import meta_of

# Type, reason and message of each condition while there is no trouble, in the order of a real controller.
_FINE = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)


def with_remnants(namespace: Object, left: Mapping[Kind, Sequence[Stored]], now: datetime) -> list[dict[str, Any]]:
    """Return the status conditions of a terminating namespace, which describe the remaining objects.

    Args:
        namespace: The namespace, with its current conditions.
        left: The remaining objects by kind, such as those with finalizers.
        now: The transition time of conditions that change.
    """
    troubles = _troubles(left)
    known = {one["type"]: one for one in namespace.get("status", {}).get("conditions") or ()}
    for type_, reason, message in _FINE:
        status, (why, text) = ("True", troubles[type_]) if type_ in troubles else ("False", (reason, message))
        before = known.get(type_, {})
        since = before["lastTransitionTime"] if before.get("status") == status else timestamp(now)
        known[type_] = {"type": type_, "status": status, "lastTransitionTime": since, "reason": why, "message": text}
    return list(known.values())


def _troubles(left: Mapping[Kind, Sequence[Stored]]) -> dict[str, tuple[str, str]]:
    if not left:
        return {}
    counts = sorted(f"{kind.plural}.{kind.group} has {len(items)} resource instances" for kind, items in left.items())
    found = {"NamespaceContentRemaining": ("SomeResourcesRemain", f"Some resources are remaining: {', '.join(counts)}")}
    held = Counter(name for items in left.values() for item in items for name in meta_of(item).finalizers)
    if held:
        names = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(held.items()))
        text = f"Some content in the namespace has finalizers remaining: {names}"
        found["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
    return found
