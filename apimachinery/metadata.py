# SPDX-License-Identifier: Apache-2.0
"""The metadata of objects, as classes; `objects.py` has them for its users."""

from __future__ import annotations

from datetime import datetime

import msgspec


class OwnerReference(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """One of the owners of an object. The object is garbage once all its owners are gone.

    Attributes:
        api_version: The owner's group and version, such as `apps/v1`.
        kind: The owner's kind.
        name: The owner's name; it is in the same namespace, or cluster-scoped.
        uid: The owner's uid. An object that was created later under the same name is not the owner.
        controller: True for the one owner that manages the object.
        block_owner_deletion: True if a deletion of the owner in the foreground waits for this object.
    """

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """The fields of an object's `metadata` that controllers use; other fields are ignored.

    A field that the object does not have is empty (texts), 0 (`generation`) or None (all others).

    Attributes:
        name: The name.
        namespace: The namespace; empty for a cluster-scoped object.
        uid: The uid, which no other object ever has.
        resource_version: The resourceVersion of the last write; see `versions.py` for how to compare two.
        generation: A number that grows with each change of the desired state (the spec).
        creation_timestamp: The time of the creation.
        deletion_timestamp: The time of the deletion request, plus the grace period; the object is terminating.
        labels: The labels.
        annotations: The annotations.
        finalizers: The names that must be removed before a terminating object goes.
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
    """An object of which the server sends only the metadata; see `Resource.only_metadata`.

    Attributes:
        metadata: The metadata.
    """

    metadata: ObjectMeta
