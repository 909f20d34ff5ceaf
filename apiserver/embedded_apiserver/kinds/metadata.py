# SPDX-License-Identifier: Apache-2.0
"""The fields of `metadata`: their order on the wire, and which of them clients write."""

from __future__ import annotations

METADATA_ORDER = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
"""The order in which a real API server encodes them. Only plain texts stand before `resourceVersion`; `stored.py` finds
an object's version by that."""

CLIENT_METADATA = ("generateName", "labels", "annotations", "ownerReferences", "finalizers")
"""The fields that a client may write."""

DELETION_METADATA = ("deletionTimestamp", "deletionGracePeriodSeconds")
"""The fields that a deletion sets. A client can write them only in an object that its PUT or apply creates."""
