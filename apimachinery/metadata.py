# SPDX-License-Identifier: Apache-2.0
"""The metadata of objects, as classes; `objects.py` has them for its users."""

from __future__ import annotations

from datetime import datetime

import msgspec


class OwnerReference(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """One owner of an object. Garbage collection deletes the object once all its owners are gone.

    Attributes:
        api_version: The owner's group and version, such as `apps/v1`.
        kind: The owner's kind.
        name: The owner's name; the owner is in the same namespace as the object, or cluster-scoped.
        uid: The owner's uid. Another object that is created later with the same name is not the owner.
        controller: True for the one owner that manages the object.
        block_owner_deletion: True if a foreground deletion of the owner waits until this object is gone.
    """

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """The fields of an object's `metadata` that controllers use; other fields are ignored.

    A field that the object lacks is an empty text, 0 (`generation`), or None (fields that are not texts).

    Attributes:
        name: The name.
        namespace: The namespace; empty for a cluster-scoped object.
        uid: The uid, which is unique over all time.
        resource_version: The resourceVersion of the last write; see `versions.py` for how to compare two.
        generation: A number that grows with each change of the desired state (the spec).
        creation_timestamp: The time of the creation.
        deletion_timestamp: The time of the deletion request plus the grace period; set while the object is terminating.
        labels: The labels.
        annotations: The annotations.
        finalizers: The finalizers, all of which must be removed before a terminating object is deleted.
        owner_references: The owners.
    """

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None


class PartialObjectMetadata(msgspec.Struct, gc=False, frozen=True):
    """An object whose metadata only was requested from the server; see `Resource.only_metadata`.

    Attributes:
        metadata: The metadata.
    """

    metadata: ObjectMeta
