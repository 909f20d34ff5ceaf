# SPDX-License-Identifier: Apache-2.0
"""Objects, lists and watches in protobuf, for kinds that have a message, and metadata of all kinds.

Objects are stored as JSON, so each one is encoded when it is read. An event of a watch is encoded once for all
watchers, as in JSON.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.protobuf.envelope import (
    MEDIA_TYPE,
    STREAM_TYPE,
    enveloped,
    enveloped_document,
    frame,
    list_parts,
)
from embedded_apiserver.protobuf.messages import META
from embedded_apiserver.protobuf.writer import encode
from embedded_apiserver.reads.forms import EventType, bookmark_metadata, list_metadata
from embedded_apiserver.reads.views import META_VERSION, PARTIAL, Show, metadata_alone, shown_as
from embedded_apiserver.storage.stored import Change, Stored

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class ProtobufForm:
    """Objects of one kind in protobuf; immutable.

    Args:
        api_version: The apiVersion of the objects.
        kind: The kind of the objects.
        list_kind: The kind of lists.
        message: The full name of the message of an object.
        show: The conversion of stored objects to the kind, or None.
    """

    content_type = MEDIA_TYPE
    stream_type = STREAM_TYPE

    def __init__(self, api_version: str, kind: str, list_kind: str, message: str, show: Show | None) -> None:
        self._api_version = api_version
        self._kind = kind
        self._list_kind = list_kind
        self._message = message
        self._show = show
        # Tells the events of this form from those of others; no JSON begins like it.
        self._events = {type_: f"protobuf {type_.value} {api_version} {kind}".encode() for type_ in EventType}

    def single(self, raw: bytes) -> bytes:
        """Return the body of one object."""
        return enveloped(self._api_version, self._kind, self._encoded(raw))

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a list. One object at a time is decoded."""
        parts = list_parts(
            list_metadata(version, token, remaining, shards), (self._encoded(item.raw) for item in items)
        )
        return enveloped(self._api_version, self._list_kind, *parts)

    def event(self, type_: EventType, change: Change) -> bytes:
        """Return the frame of a change. The change caches it, so it is built once for all watchers."""
        is_gone = type_ is EventType.DELETED
        return change.encoded(self._events[type_], functools.partial(self.framed, type_), gone=is_gone)

    def initial(self, item: Stored) -> bytes:
        """Return the frame of an object that existed when the watch began: a watcher sees it as added."""
        return self.framed(EventType.ADDED, item.raw)

    def framed(self, type_: EventType, raw: bytes) -> bytes:
        """Return the frame of an event with an object, given its stored bytes."""
        return frame(type_.value, self.single(raw))

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """Return the frame of a bookmark."""
        content = encode(self._message, {"metadata": bookmark_metadata(version, initial_end=initial_end)})
        return frame("BOOKMARK", enveloped(self._api_version, self._kind, content))

    def error(self, status: Mapping[str, object]) -> bytes:
        """Return the frame that ends a watch with a failure."""
        return frame("ERROR", enveloped_document(status))

    def _encoded(self, raw: bytes) -> bytes:
        return encode(self._message, _decode(raw if self._show is None else self._show(raw)))


@functools.cache
def protobuf_metadata(hidden: str = "") -> ProtobufForm:
    """Return the form of objects with their metadata only, without the annotation `hidden`."""
    show = functools.partial(metadata_alone, hidden=hidden)
    return ProtobufForm(META_VERSION, PARTIAL, f"{PARTIAL}List", f"{META}{PARTIAL}", show)


@functools.lru_cache
def protobuf_form(kind: Kind) -> ProtobufForm | None:
    """Return the form of whole objects of a kind; None for a custom kind, which has no message."""
    if kind.definition is not None:
        return None
    return ProtobufForm(kind.api_version, kind.kind, kind.list_kind, kind.schema.name, shown_as(kind))
