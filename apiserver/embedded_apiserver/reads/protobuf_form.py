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
    """Encodes objects of one kind as protobuf. Immutable.

    Args:
        api_version: The apiVersion of the objects.
        kind: The kind of the objects.
        list_kind: The kind of lists.
        message: The full name of the protobuf message of an object.
        show: A function that converts stored objects to the kind; None for no conversion.
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
        """Return the body of a response with one object, whose stored JSON is `raw`."""
        return enveloped(self._api_version, self._kind, self._encoded(raw))

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a response with a list. Objects are decoded one at a time, to save memory."""
        parts = list_parts(
            list_metadata(version, token, remaining, shards), (self._encoded(item.raw) for item in items)
        )
        return enveloped(self._api_version, self._list_kind, *parts)

    def event(self, type_: EventType, change: Change) -> bytes:
        """Return the frame for a change. The frame is cached in the change, so it is built once for all watches."""
        is_gone = type_ is EventType.DELETED
        return change.encoded(self._events[type_], functools.partial(self.framed, type_), gone=is_gone)

    def initial(self, item: Stored) -> bytes:
        """Return the frame for an object that existed when the watch began, as an event of type `ADDED`."""
        return self.framed(EventType.ADDED, item.raw)

    def framed(self, type_: EventType, raw: bytes) -> bytes:
        """Return the frame for an event of type `type_` with an object, whose stored JSON is `raw`."""
        return frame(type_.value, self.single(raw))

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """Return the frame for a bookmark at the resourceVersion `version`."""
        content = encode(self._message, {"metadata": bookmark_metadata(version, initial_end=initial_end)})
        return frame("BOOKMARK", enveloped(self._api_version, self._kind, content))

    def error(self, status: Mapping[str, object]) -> bytes:
        """Return the frame for an error, which ends the watch."""
        return frame("ERROR", enveloped_document(status))

    def _encoded(self, raw: bytes) -> bytes:
        return encode(self._message, _decode(raw if self._show is None else self._show(raw)))


@functools.cache
def protobuf_metadata(hidden: str = "") -> ProtobufForm:
    """Return the `Form` that encodes only the metadata of objects as protobuf, without the annotation `hidden`."""
    show = functools.partial(metadata_alone, hidden=hidden)
    return ProtobufForm(META_VERSION, PARTIAL, f"{PARTIAL}List", f"{META}{PARTIAL}", show)


@functools.lru_cache
def protobuf_form(kind: Kind) -> ProtobufForm | None:
    """Return the `Form` that encodes a kind as protobuf; None for a custom kind, which has no protobuf message."""
    if kind.definition is not None:
        return None
    return ProtobufForm(kind.api_version, kind.kind, kind.list_kind, kind.schema.name, shown_as(kind))
