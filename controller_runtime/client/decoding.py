# SPDX-License-Identifier: Apache-2.0
"""Turns the bytes of lists and watch lines into `Cached` objects.

Each object becomes bytes of its own, with kind and apiVersion, of which only the header is decoded. An
object whose header cannot be read is reported as `Undecodable` in its place; the others are not affected.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from apimachinery.errors import UNREADABLE, DecodeError, error_from_status
from apimachinery.objects import Cached, Received, cached_from_bytes
from controller_runtime.api.resources import Resource

INITIAL_EVENTS_END = "k8s.io/initial-events-end"

_REFUSED: tuple[type[Exception], ...] = (DecodeError, *UNREADABLE)


class EventType(enum.Enum):
    """The type of a watch event, without ERROR, which is raised as an exception."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


class WatchEvent(NamedTuple):
    """One line of a watch.

    Attributes:
        type: The type of the change.
        cached: The object after the change (a deleted object: its last state); None for a bookmark.
        version: The resourceVersion that the collection has reached with this event.
        initial_events_end: True for the bookmark that ends a streamed list.
    """

    type: EventType
    cached: Cached | None
    version: str
    initial_events_end: bool = False


_change: Callable[[tuple[EventType, Cached, str, bool]], WatchEvent] = partial(tuple.__new__, WatchEvent)


class Undecodable(NamedTuple):
    """Replaces an object that cannot be read.

    Attributes:
        text: The reason, and the beginning of the object's bytes.
    """

    text: str


class Page(NamedTuple):
    """One page of a list.

    Attributes:
        items: The objects, in the server's order.
        undecodable: The objects that cannot be read.
        version: The resourceVersion of the whole list; the same on each of its pages.
        continue_token: The token by which to ask for the next page; empty on the last page.
        shards: The shard selector that the server applied to the list, as its answer states; empty if the answer has
            none.
        remaining: The number of objects on the pages after it; None if the server does not tell, as with selectors.
    """

    items: list[Cached]
    undecodable: list[Undecodable]
    version: str
    continue_token: str
    shards: str = ""
    remaining: int | None = None


class _ShardInfo(msgspec.Struct, gc=False):
    selector: str = ""


class _ListMeta(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str = ""
    continue_token: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None
    shard_info: _ShardInfo | None = None


class _List(msgspec.Struct, gc=False, rename="camel"):
    metadata: _ListMeta
    kind: str = ""
    api_version: str = ""
    items: list[msgspec.Raw] | None = None


class _WatchLine(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


class _BookmarkMeta(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str
    annotations: dict[str, str] | None = None


class _Bookmark(msgspec.Struct, gc=False):
    metadata: _BookmarkMeta


class _Kind(msgspec.Struct, gc=False, rename="camel"):
    kind: str = ""
    api_version: str = ""


class _ItemMeta(msgspec.Struct, gc=False, rename="camel"):
    name: str
    uid: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Item(_Kind, gc=False, rename="camel", kw_only=True):
    """An object of a list, which has no kind of its own as a rule, because the list names it."""

    metadata: _ItemMeta


class _ErrorStatus(msgspec.Struct, gc=False):
    code: int = 500


_CHANGES = (EventType.ADDED, EventType.MODIFIED, EventType.DELETED)
_HEADS = {f'{{"type":"{change.value}","object":'.encode(): change for change in _CHANGES}
"""The text before the object on a watch line, as Kubernetes servers write it."""
_LONGEST_HEAD = max(map(len, _HEADS)) + 1

PARTIAL = _Kind("PartialObjectMetadata", "meta.k8s.io/v1")
"""The kind of objects of which the server sends only the metadata."""

_list = msgspec.json.Decoder(_List)
_line = msgspec.json.Decoder(_WatchLine)
_bookmark = msgspec.json.Decoder(_Bookmark)
_item = msgspec.json.Decoder(_Item)
_status = msgspec.json.Decoder(_ErrorStatus)
_any = msgspec.json.Decoder(dict[str, Any])


class Decoding:
    """Decodes the lists and watch lines of one resource.

    Args:
        resource: The resource; objects of another kind are undecodable.

    Threads: any; it has no state.
    """

    def __init__(self, resource: Resource[Any]) -> None:
        self._resource = resource
        self._expected = PARTIAL if resource.is_partial else _Kind(resource.kind, resource.api_version)
        # Servers write the kind first, or second for custom objects: this comparison saves decoding it.
        kind, version = f'"kind":"{self._expected.kind}",', f'"apiVersion":"{self._expected.api_version}",'
        self._prefix = f"{{{kind}{version}".encode()
        self._prefixes = self._prefix, f"{{{version}{kind}".encode()

    def event(self, line: bytes) -> WatchEvent | Undecodable:
        """Return the event in one line of a watch, or an `Undecodable` if it cannot be read.

        Raises:
            APIError: The line is an ERROR event.
        """
        # A shortcut for the form that Kubernetes servers write: the object is cut out of the line without decoding the
        # line, which halves the cost. It is one function, because calls are a third of what is left.
        start = line.find(b"{", 1, _LONGEST_HEAD)
        happened = _HEADS.get(line[:start])
        if happened is not None and line.startswith(self._prefixes, start) and line.endswith(b"}"):
            try:
                cached = cached_from_bytes(line[start:-1])
            except DecodeError:  # also if the line has fields after the object
                pass
            else:
                return _change((happened, cached, cached.resource_version, False))
        try:
            return self._any_event(line)
        except _REFUSED as error:
            return _undecodable(error, line)

    def _any_event(self, line: bytes) -> WatchEvent | Undecodable:
        found = _line.decode(line)
        match found.type:
            case "ADDED" | "MODIFIED" | "DELETED":
                cached = self._cached(bytes(found.object))
                return WatchEvent(EventType[found.type], cached, cached.resource_version)
            case "BOOKMARK":
                return _bookmark_event(found.object)
            case "ERROR":
                raise error_from_status(_status.decode(found.object).code, _any.decode(found.object))
            case _:
                return _undecodable("an event of an unknown type", line)

    def page(self, body: bytes) -> Page:
        """Return the page in the body of an answer to a list request.

        Raises:
            DecodeError: The answer is not a list of this kind, but a Table, for example.
        """
        try:
            found = _list.decode(body)
        except UNREADABLE as error:
            raise DecodeError(f"{self._resource}: the answer is not a list: {error}") from error
        # Lists of other kinds of this API version pass: their items are checked one by one.
        if found.api_version != self._expected.api_version:
            raise DecodeError(
                f"{self._resource}: the answer is a {found.api_version or '?'} {found.kind or '?'}, not a list of "
                "these objects: check the resource's group, version and plural"
            )
        if not found.metadata.resource_version:
            raise DecodeError(f"{self._resource}: the answer has no resourceVersion")
        shard = found.metadata.shard_info
        token = found.metadata.continue_token or ""
        shards, left = "" if shard is None else shard.selector, found.metadata.remaining_item_count
        page = Page([], [], found.metadata.resource_version, token, shards, left)
        for raw in found.items or ():
            try:
                page.items.append(self._item(raw))
            except DecodeError as error:
                page.undecodable.append(_undecodable(error, raw))
        return page

    def _cached(self, own: bytes) -> Cached:
        return cached_from_bytes(own) if own.startswith(self._prefixes) else self._item(own)

    def _item(self, raw: bytes | msgspec.Raw) -> Cached:
        """Return the object with bytes of its own, its kind in front; `raw` itself would keep the whole page."""
        try:
            found = _item.decode(raw)
        except UNREADABLE as error:
            raise DecodeError(f"the object has no readable kind and metadata: {error}") from error
        own = bytes(raw) if self._has_kind(found) else b"".join((self._prefix, memoryview(raw)[1:]))
        meta = found.metadata
        return Received(own, meta.name, sys.intern(meta.namespace), meta.uid, meta.resource_version)

    def _has_kind(self, found: _Item) -> bool:
        """Return whether the object has a kind of its own.

        Raises:
            DecodeError: It has, and it is not the expected one.
        """
        if not (found.kind or found.api_version):
            return False
        expected = self._expected
        if (found.kind, found.api_version) != (expected.kind, expected.api_version):
            raise DecodeError(
                f"a {found.api_version or '?'} {found.kind or '?'}, not a {expected.api_version} {expected.kind}"
            )
        return True


def _undecodable(why: object, raw: msgspec.Raw | bytes) -> Undecodable:
    return Undecodable(f"{why}: {bytes(raw)[:200].decode(errors='replace')}")


def _bookmark_event(raw: msgspec.Raw) -> WatchEvent:
    meta = _bookmark.decode(raw).metadata
    ends = (meta.annotations or {}).get(INITIAL_EVENTS_END) == "true"  # any other value does not end it
    return WatchEvent(EventType.BOOKMARK, None, meta.resource_version, ends)
