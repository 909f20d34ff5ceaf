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
    """Makes the bodies of responses with the objects of one kind."""

    @property
    def content_type(self) -> str:
        """The media type of these bodies."""

    def single(self, raw: bytes) -> bytes:
        """Return the body of one object; `raw` is its stored bytes, JSON without kind and apiVersion."""

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a list.

        Args:
            items: The objects of this page.
            version: The resourceVersion at which the list was read.
            token: The token of the next page; empty if absent.
            remaining: How many objects follow this page; None if that is not known.
            shards: The shard selector that has chosen the objects; empty if none has.
        """


class LineForm(Form, Protocol):
    """A form that also makes the lines of a watch: the events, which end with a newline in JSON."""

    @property
    def stream_type(self) -> str:
        """The media type of a watch."""

    def event(self, type_: EventType, change: Change) -> bytes:
        """Return the line of a change, as an event of type `type_`.

        The type depends on the watcher: a change can make an object begin to match its selectors, or cease to.
        """

    def initial(self, item: Stored) -> bytes:
        """Return the line of an object that existed when the watch began."""

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """Return the line of a bookmark: the watcher has received all changes up to this resourceVersion.

        `initial_end` marks the bookmark that ends the initial objects.
        """

    def error(self, status: Mapping[str, object]) -> bytes:
        """Return the line that ends a watch with a failure."""


def bookmark_metadata(version: int, *, initial_end: bool) -> dict[str, Any]:
    """Return the metadata of a bookmark."""
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if initial_end else {}
    return {"resourceVersion": str(version), **annotations}


def list_metadata(version: int, token: str, remaining: int | None, shards: str = "") -> dict[str, Any]:
    """Return the metadata of a list; see `Form.list`."""
    metadata: dict[str, Any] = {"resourceVersion": str(version)} if version else {}  # 0: of no state of the storage
    if token:
        metadata["continue"] = token
    if remaining:
        metadata["remainingItemCount"] = remaining
    if shards:
        metadata["shardInfo"] = {"selector": shards}
    return metadata


class JSONForm:
    """Whole objects as JSON.

    Args:
        api_version: The apiVersion of the objects.
        kind: The kind of the objects.
        list_kind: The kind of lists; if empty, the kind of the objects with `List` behind it.
        items_named: Whether each item of a list has its kind and apiVersion, as those of custom kinds have. Their lists
            name the token of the next page on the last page, too, where it is empty; their fields are in alphabetical
            order.
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
        """Return the body of one object."""
        return self._single + raw[1:]

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a list. Its items have neither kind nor apiVersion, unless `items_named` is set."""
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
        """Return the line of a change. The change caches it, so it is built once for all watchers."""
        return change.line(self._event[type_], gone=type_ is EventType.DELETED)

    def line(self, type_: EventType, raw: bytes) -> bytes:
        """Return a line built for one watcher."""
        return b"".join((self._event[type_], memoryview(raw)[1:], b"}\n"))

    def initial(self, item: Stored) -> bytes:
        """Return the line of an object that existed when the watch began: a watcher sees it as added."""
        return self.line(EventType.ADDED, item.raw)

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """Return the line of a bookmark, with the annotation that ends the initial objects if `initial_end` is set."""
        metadata = msgspec.json.encode(bookmark_metadata(version, initial_end=initial_end))
        return b'%b"metadata":%b}}\n' % (self._bookmark, metadata)

    def error(self, status: Mapping[str, object]) -> bytes:
        """Return the line that ends a watch with a failure."""
        return error_line(status)


@functools.lru_cache
def json_form(api_version: str, kind: str, list_kind: str = "", *, items_named: bool = False) -> JSONForm:
    """Return the form of a kind. All requests share it, and with it the lines that changes cache."""
    return JSONForm(api_version, kind, list_kind, items_named=items_named)


def error_line(status: Mapping[str, object]) -> bytes:
    """Return the line of JSON that ends a watch with a failure."""
    return msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n"
