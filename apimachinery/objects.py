# SPDX-License-Identifier: Apache-2.0
"""API objects as received: the server's bytes and a small header.

Caches, predicates and handlers work with `Cached` objects. Decoding happens on demand and gives each reader a
copy of its own, so no reader can corrupt a cache; and the garbage collector need not look into bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec

from apimachinery.decoding import converter_of
from apimachinery.errors import UNREADABLE, DecodeError
from apimachinery.metadata import ObjectMeta as ObjectMeta
from apimachinery.metadata import OwnerReference as OwnerReference
from apimachinery.metadata import PartialObjectMetadata as PartialObjectMetadata
from apimachinery.models import is_model, json_of

T = TypeVar("T")


class ObjectKey(NamedTuple):
    """The name and namespace of an object, which identify it within its collection.

    Queues hold keys rather than objects or events, so that a reconciler always reads the object's current state,
    however many changes led to it.

    Attributes:
        name: The object's name.
        namespace: The object's namespace; empty for a cluster-scoped object.
    """

    name: str
    namespace: str = ""

    @classmethod
    def of(cls, obj: AnyObject) -> ObjectKey:
        """Return the key of an object in any form that `meta` accepts.

        Raises:
            DecodeError: The object has no metadata, or malformed metadata.
        """
        return cls((found := meta(obj)).name, found.namespace)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


PlainKey = tuple[str, str]
"""An `ObjectKey` as a plain tuple; the two are equal and have the same hash.

Stores use plain tuples as keys because the garbage collector does not track plain tuples of text; 100,000 instances of
`ObjectKey` would take 10 ms of each full collection.
"""


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


_meta_in: Callable[[Any], ObjectMeta] = converter_of(ObjectMeta)
_meta_of: Callable[[Any], ObjectMeta] = converter_of(ObjectMeta, from_attributes=True)
_header = msgspec.json.Decoder(_Header)
_meta = msgspec.json.Decoder(PartialObjectMetadata)
_labels = msgspec.json.Decoder(_WithLabels)


class Cached(msgspec.Struct, gc=False, frozen=True, eq=False):
    """One object as the server sent it, with the fields that identify it and its resourceVersion.

    The object is immutable, because caches share it. There are two forms: `Received`, and a smaller one that stores
    use. `raw`, `meta` and functions such as `labels_of` unpack and decode on each call, which takes a few microseconds,
    so keep the result if you need it twice.

    Threads: any.
    """

    @property
    def raw(self) -> bytes:
        """The object's JSON, with `kind` and `apiVersion`."""
        raise NotImplementedError

    @property
    def head(self) -> bytes:
        """JSON with all of the object's metadata: `raw`, unless a cache has only the metadata; then `raw` would fetch
        the rest.
        """
        return self.raw

    @property
    def name(self) -> str:
        """The object's name."""
        raise NotImplementedError

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for a cluster-scoped object."""
        raise NotImplementedError

    @property
    def uid(self) -> str:
        """The object's uid."""
        raise NotImplementedError

    @property
    def resource_version(self) -> str:
        """The resourceVersion of the object's last write."""
        raise NotImplementedError

    @property
    def key(self) -> ObjectKey:
        """The object's name and namespace."""
        return ObjectKey(self.name, self.namespace)

    @property
    def plain_key(self) -> PlainKey:
        """The object's name and namespace as a plain tuple, for dicts with many objects; see `PlainKey`."""
        return self.name, self.namespace

    @property
    def size(self) -> int:
        """The size of the object's JSON, in bytes."""
        return len(self.raw)

    @property
    def meta(self) -> ObjectMeta:
        """The object's metadata, decoded at each access.

        Raises:
            DecodeError: The metadata is malformed.
        """
        return _decode(_meta, self).metadata

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key} at {self.resource_version or '?'}, {self.size} bytes>"


class Received(Cached, gc=False, frozen=True, eq=False):
    """An object as the server sent it, before a store takes it; all fields are available without unpacking.

    Attributes:
        raw: The object's JSON, with `kind` and `apiVersion`.
        name: The object's name.
        namespace: The object's namespace; empty for a cluster-scoped object.
        uid: The object's uid.
        resource_version: The resourceVersion of the object's last write.
    """

    raw: bytes
    name: str
    namespace: str
    uid: str
    resource_version: str


def _decode(decoder: msgspec.json.Decoder[T], cached: Cached) -> T:
    try:
        return decoder.decode(cached.head)
    except UNREADABLE as error:
        raise DecodeError(f"{cached.key}: {error}") from error


def cached_from_bytes(raw: bytes) -> Cached:
    """Return a `Cached` for the JSON of one object.

    Args:
        raw: The JSON of the object; the result refers to it without a copy.

    Raises:
        DecodeError: `raw` is not JSON, or has no `metadata.name`.
    """
    try:
        meta = _header.decode(raw).metadata
    except UNREADABLE as error:
        raise DecodeError(f"the object has no readable metadata: {error}") from error
    # One string for all objects of a namespace, rather than one each. Without the GIL an interned text is never freed;
    # there are as many as there were namespaces.
    namespace = sys.intern(meta.namespace)
    return Received(raw, meta.name, namespace, meta.uid, meta.resource_version)


class HasMetadata(Protocol):
    """An object with the attribute `metadata`: a model of the official client, or a class with some of a kind's
    fields.
    """

    @property
    def metadata(self) -> Any:
        """The metadata, in any form that the function `meta` accepts."""


AnyObject = Cached | Mapping[str, Any] | HasMetadata
"""An object in any form: a `Cached`, a dict, a model of the official client, or a view that declares `metadata`."""


def meta(obj: AnyObject) -> ObjectMeta:
    """Return the metadata of an object, given as a `Cached`, a mapping, or an object with an attribute `metadata`.

    Raises:
        DecodeError: The object has no metadata, or malformed metadata.
    """
    if isinstance(obj, Cached):
        return obj.meta
    raw = obj.get("metadata") if isinstance(obj, Mapping) else obj.metadata
    if isinstance(raw, ObjectMeta):
        return raw
    if raw is None:
        raise DecodeError("the object has no metadata")
    if is_model(raw):
        raw = json_of(raw)
    try:
        return (_meta_in if isinstance(raw, Mapping) else _meta_of)(raw)
    except UNREADABLE as error:
        raise DecodeError(f"malformed metadata: {error}") from error


def _mapping_of(obj: AnyObject, name: str) -> dict[str, str]:
    """Return a copy of the labels or annotations of an object that is not a `Cached`."""
    raw = obj.get("metadata") if isinstance(obj, Mapping) else cast("HasMetadata", obj).metadata
    value = raw.get(name) if isinstance(raw, Mapping) else getattr(raw, name, None)
    return dict(value) if value else {}


def labels_of(obj: AnyObject) -> dict[str, str]:
    """Return a new dict with the labels of an object in any form that `meta` accepts; empty if it has none."""
    if isinstance(obj, Cached):
        return _decode(_labels, obj).metadata.labels or {}
    return _mapping_of(obj, "labels")


class _Annotations(msgspec.Struct, gc=False):
    annotations: dict[str, str] | None = None


class _WithAnnotations(msgspec.Struct, gc=False):
    metadata: _Annotations


_annotations = msgspec.json.Decoder(_WithAnnotations)


def annotations_of(obj: AnyObject) -> dict[str, str]:
    """Return a new dict with the annotations of an object in any form that `meta` accepts; empty if it has none."""
    if isinstance(obj, Cached):
        return _decode(_annotations, obj).metadata.annotations or {}
    return _mapping_of(obj, "annotations")


def microtime(instant: datetime) -> str:
    """Return `instant` as text in the API's format `MicroTime`, as in a Lease's `renewTime`: in UTC, with six digits of
    fraction.

    The API server refuses any other number of digits.

    Raises:
        ValueError: `instant` has no time zone.
    """
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no time zone: a MicroTime needs an aware instant")
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def timestamp(instant: datetime) -> str:
    """Return `instant` as text in the API's format `Time`, as in `lastTransitionTime`: in UTC, truncated to whole
    seconds.

    Raises:
        ValueError: `instant` has no time zone.
    """
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no time zone: a Time needs an aware instant")
    return instant.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
