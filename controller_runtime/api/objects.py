# SPDX-License-Identifier: Apache-2.0
"""Objects as the house holds them: the server's bytes and a small header.

A `Cached` is what flows from the wire to the store, to predicates and to handlers. It
is decoded on demand, into the reader's own copy, so nobody can corrupt a cache, and
bytes cost the garbage collector nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec

from controller_runtime.core.errors import UNREADABLE, DecodeError

T = TypeVar("T")


class ObjectKey(NamedTuple):
    """The name of an object within its kind. Cluster-scoped objects have an empty namespace.

    A queue, a cache and a client all take and give keys, and nothing that a change brought
    with it: a reconciler reads the object's present state under its key.
    """

    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


PlainKey = tuple[str, str]
"""An `ObjectKey` as a plain tuple, which equals it and finds it in a dict. Stores are keyed by these, because the
garbage collector does not track plain tuples of text; 100,000 instances of `ObjectKey` would cost each full collection
10 ms."""


class OwnerReference(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """Who an object belongs to."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """The metadata that controllers look at. Decoded from the bytes when asked for."""

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
    """An object of which only the metadata is served; see `Resource.only_metadata`."""

    metadata: ObjectMeta


class _WithMeta(msgspec.Struct, gc=False):
    metadata: ObjectMeta


class _HeaderMeta(msgspec.Struct, gc=False, rename="camel"):
    name: str
    uid: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Header(msgspec.Struct, gc=False):
    metadata: _HeaderMeta


class _Labels(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _WithLabels(msgspec.Struct, gc=False):
    metadata: _Labels


_header = msgspec.json.Decoder(_Header)
_meta = msgspec.json.Decoder(_WithMeta)
_labels = msgspec.json.Decoder(_WithLabels)


class Cached(msgspec.Struct, gc=False, frozen=True, eq=False):
    """One object as the server sent it, with the four words that identify it.

    Immutable and shared. `meta` and the accessors below decode on each call (a few
    microseconds): keep the result if you need it twice.

    Attributes:
        raw: The object's JSON, with `kind` and `apiVersion`.
    """

    raw: bytes
    name: str
    namespace: str
    uid: str
    resource_version: str

    @property
    def key(self) -> ObjectKey:
        """The object's name and namespace."""
        return ObjectKey(self.name, self.namespace)

    @property
    def plain_key(self) -> PlainKey:
        """The same as a plain tuple, for dicts that hold many objects."""
        return self.name, self.namespace

    @property
    def meta(self) -> ObjectMeta:
        """The metadata, decoded now.

        Raises:
            DecodeError: It is not what every object's metadata is.
        """
        return _decode(_meta, self).metadata

    def __repr__(self) -> str:
        return f"<Cached {self.key} at {self.resource_version or '?'}, {len(self.raw)} bytes>"


def _decode(decoder: msgspec.json.Decoder[T], cached: Cached) -> T:
    try:
        return decoder.decode(cached.raw)
    except UNREADABLE as error:
        raise DecodeError(f"{cached.key}: {error}") from error


def cached_from_bytes(raw: bytes) -> Cached:
    """Read the header of one object's JSON; `raw` is kept, so pass bytes of its own.

    Raises:
        DecodeError: Not JSON, or without `metadata.name`.
    """
    try:
        meta = _header.decode(raw).metadata
    except UNREADABLE as error:
        raise DecodeError(f"an object without readable metadata: {error}") from error
    namespace = sys.intern(meta.namespace)  # one text for all that is in it
    return Cached(raw, meta.name, namespace, meta.uid, meta.resource_version)


class HasMetadata(Protocol):
    """A typed model or a view of one's own that declares `metadata`."""

    @property
    def metadata(self) -> Any:
        """The metadata, in whatever form its own class gives it."""


AnyObject = Cached | Mapping[str, Any] | HasMetadata
"""What the accessors take: a `Cached`, a dict, a model, or a view that declares `metadata`."""


def meta(obj: AnyObject) -> ObjectMeta:
    """The metadata of any form of an object.

    Raises:
        DecodeError: The object has none, or it is malformed.
    """
    if isinstance(obj, Cached):
        return obj.meta
    raw = obj.get("metadata") if isinstance(obj, Mapping) else obj.metadata
    if isinstance(raw, ObjectMeta):
        return raw
    if raw is None:
        raise DecodeError("the object has no metadata")
    if hasattr(raw, "model_dump"):  # the official client's models
        raw = raw.model_dump(mode="json", by_alias=True, exclude_none=True)
    try:
        return msgspec.convert(raw, ObjectMeta, from_attributes=not isinstance(raw, Mapping))
    except UNREADABLE as error:
        raise DecodeError(f"malformed metadata: {error}") from error


def _mapping_of(obj: AnyObject, name: str) -> dict[str, str]:
    raw = obj.get("metadata") if isinstance(obj, Mapping) else cast("HasMetadata", obj).metadata
    value = raw.get(name) if isinstance(raw, Mapping) else getattr(raw, name, None)
    return dict(value) if value else {}


def labels_of(obj: AnyObject) -> dict[str, str]:
    """The labels of any form of an object; empty when it has none. The dict is the caller's own."""
    if isinstance(obj, Cached):
        return _decode(_labels, obj).metadata.labels or {}
    return _mapping_of(obj, "labels")


class _Annotations(msgspec.Struct, gc=False):
    annotations: dict[str, str] | None = None


class _WithAnnotations(msgspec.Struct, gc=False):
    metadata: _Annotations


_annotations = msgspec.json.Decoder(_WithAnnotations)


def annotations_of(obj: AnyObject) -> dict[str, str]:
    """The annotations of any form of an object; empty when it has none. The dict is the caller's own."""
    if isinstance(obj, Cached):
        return _decode(_annotations, obj).metadata.annotations or {}
    return _mapping_of(obj, "annotations")


def microtime(instant: datetime) -> str:
    """An instant as a MicroTime: UTC, exactly six digits of fraction, as the API server insists.

    Raises:
        ValueError: `instant` has no time zone.
    """
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no time zone: a MicroTime needs an aware instant")
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def timestamp(instant: datetime) -> str:
    """An instant as a Time: UTC, whole seconds (rounded down).

    Raises:
        ValueError: `instant` has no time zone.
    """
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no time zone: a Time needs an aware instant")
    return instant.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
