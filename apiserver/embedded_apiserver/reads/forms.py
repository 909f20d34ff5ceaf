# SPDX-License-Identifier: Apache-2.0
"""The forms in which objects are sent, and the JSON form.

All forms have the same methods (for an object, a list, an event and a bookmark), so that a watch or a list does not
depend on the form that the client has asked for. The JSON form puts bytes before and after the stored bytes of an
object and never encodes the object again.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from embedded_apiserver.storage.stored import Change, Stored

_sorted = msgspec.json.Encoder(order="sorted").encode


class EventType(enum.StrEnum):
    """The type of an event in a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Form(Protocol):
    """Encodes objects of one kind as the bodies of responses, in one media type."""

    @property
    def content_type(self) -> str:
        """The media type of the bodies."""

    def single(self, raw: bytes) -> bytes:
        """Return the body of a response with one object; `raw` is its stored JSON, without kind and apiVersion."""

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a response with a list.

        Args:
            items: The objects of this page.
            version: The resourceVersion at which the list was read.
            token: The `continue` token of the next page; empty on the last page.
            remaining: The number of objects after this page; None if unknown.
            shards: The shard selector of the list; empty if absent.
        """


class LineForm(Form, Protocol):
    """A form that can also encode the events of a watch as lines, which end with a newline in JSON."""

    @property
    def stream_type(self) -> str:
        """The media type of a watch's body."""

    def event(self, type_: EventType, change: Change) -> bytes:
        """Return the line for a change, as an event of type `type_`.

        The type depends on the watch: after a change, an object can begin or cease to match the watch's selectors.
        """

    def initial(self, item: Stored) -> bytes:
        """Return the line for an object that existed when the watch began."""

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """Return the line for a bookmark: the watch has sent all changes up to the resourceVersion `version`.

        `initial_end` marks the bookmark that ends the initial objects.
        """

    def error(self, status: Mapping[str, object]) -> bytes:
        """Return the line for an error, which ends the watch."""


def bookmark_metadata(version: int, *, initial_end: bool) -> dict[str, Any]:
    """Return the metadata of a bookmark; `initial_end` adds the annotation that ends the initial objects."""
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if initial_end else {}
    return {"resourceVersion": str(version), **annotations}


def list_metadata(version: int, token: str, remaining: int | None, shards: str = "") -> dict[str, Any]:
    """Return the metadata of a list; for the arguments see `Form.list`."""
    metadata: dict[str, Any] = {"resourceVersion": str(version)} if version else {}  # 0: of no state of the storage
    if token:
        metadata["continue"] = token
    if remaining:
        metadata["remainingItemCount"] = remaining
    if shards:
        metadata["shardInfo"] = {"selector": shards}
    return metadata


class JSONForm:
    """Encodes whole objects as JSON.

    Args:
        api_version: The apiVersion of the objects.
        kind: The kind of the objects.
        list_kind: The kind of lists; if empty, the kind of the objects followed by `List`.
        items_named: True if each item of a list has its kind and apiVersion, as for custom kinds. If `list_kind` is
            given as well, a list has a `continue` token, perhaps empty, on every page, and its fields are in
            alphabetical order.
    """

    content_type = stream_type = "application/json"

    def __init__(self, api_version: str, kind: str, list_kind: str = "", *, items_named: bool = False) -> None:
        self._items_named = items_named
        self._is_custom = items_named and bool(list_kind)
        version, named = f'"apiVersion":"{api_version}",', f'"kind":"{kind}",'
        self._single = f"{{{version}{named}".encode() if self._is_custom else f"{{{named}{version}".encode()
        self._list_kind = f'"kind":"{list_kind or f"{kind}List"}",'.encode()
        self._list_version = version.encode()
        self._event = {type_: b'{"type":"%b","object":%b' % (type_.value.encode(), self._single) for type_ in EventType}
        self._bookmark = b'{"type":"BOOKMARK","object":' + self._single

    def single(self, raw: bytes) -> bytes:
        """Return the body of a response with one object, whose stored JSON is `raw`."""
        return self._single + raw[1:]

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a response with a list. Items have neither kind nor apiVersion, unless `items_named` is
        set.
        """
        # A real server does not tell it of lists of custom kinds, although it selects.
        metadata = list_metadata(version, token, remaining, "" if self._is_custom else shards)
        if self._is_custom:
            head, tail = b'{%b"items":[' % self._list_version, _sorted({"continue": token, **metadata})
            tail = b'],%b"metadata":%b}\n' % (self._list_kind, tail)
        else:
            head, tail = msgspec.json.encode(metadata), b"]}\n"
            head = b'{%b%b"metadata":%b,"items":[' % (self._list_kind, self._list_version, head)
        raws = [self.single(item.raw) if self._items_named else item.raw for item in items] or [b""]
        # Head and tail are added to the first and the last item, so that the large rest is copied only once, by `join`.
        raws[0] = head + raws[0]
        raws[-1] += tail
        return b",".join(raws)

    def event(self, type_: EventType, change: Change) -> bytes:
        """Return the line for a change. The line is cached in the change, so it is built once for all watches."""
        return change.line(self._event[type_], gone=type_ is EventType.DELETED)

    def line(self, type_: EventType, raw: bytes) -> bytes:
        """Return the line for an event of type `type_` with the object `raw`, without caching it."""
        return b"".join((self._event[type_], memoryview(raw)[1:], b"}\n"))

    def initial(self, item: Stored) -> bytes:
        """Return the line for an object that existed when the watch began, as an event of type `ADDED`."""
        return self.line(EventType.ADDED, item.raw)

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """Return the line for a bookmark, with the annotation that ends the initial objects if `initial_end` is set."""
        metadata = msgspec.json.encode(bookmark_metadata(version, initial_end=initial_end))
        return b'%b"metadata":%b}}\n' % (self._bookmark, metadata)

    def error(self, status: Mapping[str, object]) -> bytes:
        """Return the line for an error, which ends the watch."""
        return error_line(status)


@functools.lru_cache
def json_form(api_version: str, kind: str, list_kind: str = "", *, items_named: bool = False) -> JSONForm:
    """Return the `Form` that encodes a kind as JSON. All requests share it, and with it the cached lines of changes."""
    return JSONForm(api_version, kind, list_kind, items_named=items_named)


def error_line(status: Mapping[str, object]) -> bytes:
    """Return the line of JSON for an error, which ends a watch."""
    return msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n"
