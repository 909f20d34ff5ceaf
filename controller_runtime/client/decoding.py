# SPDX-License-Identifier: Apache-2.0
"""From the bytes of lists and watch lines to `Cached` objects.

Each object becomes bytes of its own, with kind and apiVersion, and is read no further
than its header. What cannot be read that far is reported in its place and harms
nothing else.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import msgspec

from controller_runtime.api.objects import Cached, cached_from_bytes
from controller_runtime.api.resources import Resource
from controller_runtime.core.errors import UNREADABLE, DecodeError, error_from_status

INITIAL_EVENTS_END = "k8s.io/initial-events-end"

_REFUSED: tuple[type[Exception], ...] = (DecodeError, *UNREADABLE)


class EventType(enum.Enum):
    """What a watch says happened. A server's ERROR is raised, so it is none of them."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


class WatchEvent(NamedTuple):
    """One line of a watch.

    Attributes:
        type: What happened.
        cached: The object, as it is now or as it last was; None for a bookmark.
        version: The version the collection has reached with this event.
        initial_events_end: A bookmark that ends the initial list of a streamed one.
    """

    type: EventType
    cached: Cached | None
    version: str
    initial_events_end: bool = False


class Undecodable(NamedTuple):
    """An object that could not be read, in the place where it came; `text` says why and shows its beginning."""

    text: str


class Page(NamedTuple):
    """One page of a list.

    Attributes:
        items: The objects, in the server's order.
        undecodable: Those that could not be read.
        version: The version of the whole list; the same on each of its pages.
        continue_token: What asks for the next page; empty on the last one.
    """

    items: list[Cached]
    undecodable: list[Undecodable]
    version: str
    continue_token: str


class _ListMeta(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str = ""
    continue_token: str | None = msgspec.field(default=None, name="continue")


class _List(msgspec.Struct, gc=False, rename="camel"):
    metadata: _ListMeta
    kind: str = ""
    api_version: str = ""
    items: list[msgspec.Raw] | None = None


class _Line(msgspec.Struct, gc=False):
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


class _Status(msgspec.Struct, gc=False):
    code: int = 500


_CHANGES = (EventType.ADDED, EventType.MODIFIED, EventType.DELETED)
_HEADS = {f'{{"type":"{change.value}","object":'.encode(): change for change in _CHANGES}
"""What stands before the object on a line, as servers write them."""
_LONGEST_HEAD = max(map(len, _HEADS)) + 1

PARTIAL = _Kind("PartialObjectMetadata", "meta.k8s.io/v1")
"""What the objects of a resource say they are of which only the metadata is served."""

_list = msgspec.json.Decoder(_List)
_line = msgspec.json.Decoder(_Line)
_bookmark = msgspec.json.Decoder(_Bookmark)
_kind = msgspec.json.Decoder(_Kind)
_status = msgspec.json.Decoder(_Status)
_any = msgspec.json.Decoder(dict[str, Any])


class Decoding:
    """Reads the lists and watch lines of one collection.

    Threads: any; it holds no state.
    """

    def __init__(self, resource: Resource[Any]) -> None:
        self._resource = resource
        self._expected = PARTIAL if resource.is_partial else _Kind(resource.kind, resource.api_version)
        # How a server writes an object of this kind, so that its kind can be seen without decoding.
        self._prefix = f'{{"kind":"{self._expected.kind}","apiVersion":"{self._expected.api_version}",'.encode()

    def event(self, line: bytes) -> WatchEvent | Undecodable:
        """What one line of a watch says.

        Raises:
            APIError: The line is the server's ERROR event.
        """
        try:
            return self._change(line) or self._any_event(line)
        except _REFUSED as error:
            return _undecodable(error, line)

    def _change(self, line: bytes) -> WatchEvent | None:
        """What a line says that looks as servers write them; None if it does not. Half the cost of `_any_event`."""
        start = line.find(b"{", 1, _LONGEST_HEAD)
        happened = _HEADS.get(line[:start])
        if happened is None or not line.endswith(b"}"):
            return None
        try:
            cached = self._cached(line[start:-1])
        except DecodeError:  # or there is more on the line
            return None
        return WatchEvent(happened, cached, cached.resource_version)

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
        """What one answer to a list holds.

        Raises:
            DecodeError: It is not a list of this kind, such as a Table.
        """
        try:
            found = _list.decode(body)
        except UNREADABLE as error:
            raise DecodeError(f"{self._resource}: the answer is no list: {error}") from error
        if found.api_version != self._expected.api_version:  # a Table, or metadata alone
            raise DecodeError(
                f"{self._resource}: the answer is a {found.api_version or '?'} {found.kind or '?'}, not a list of it"
            )
        if not found.metadata.resource_version:
            raise DecodeError(f"{self._resource}: the answer has no resourceVersion")
        page = Page([], [], found.metadata.resource_version, found.metadata.continue_token or "")
        for raw in found.items or ():
            try:
                page.items.append(self._cached(bytes(raw)))  # not the Raw itself: it would keep the whole page alive
            except DecodeError as error:
                page.undecodable.append(_undecodable(error, raw))
        return page

    def _cached(self, own: bytes) -> Cached:
        if not own.startswith(self._prefix):
            own = self._with_kind(own)
        return cached_from_bytes(own)

    def _with_kind(self, own: bytes) -> bytes:
        try:
            found = _kind.decode(own)
        except UNREADABLE as error:
            raise DecodeError(f"an object without a readable kind: {error}") from error
        if found == self._expected:
            return own
        if found.kind or found.api_version:
            expected = f"{self._expected.api_version} {self._expected.kind}"
            raise DecodeError(f"{found.api_version or '?'} {found.kind or '?'} where {expected} belongs")
        return self._prefix + own[1:].lstrip()  # list items of built-in kinds lack both


def _undecodable(why: object, raw: msgspec.Raw | bytes) -> Undecodable:
    return Undecodable(f"{why}: {bytes(raw)[:200].decode(errors='replace')}")


def _bookmark_event(raw: msgspec.Raw) -> WatchEvent:
    meta = _bookmark.decode(raw).metadata
    ends = (meta.annotations or {}).get(INITIAL_EVENTS_END) == "true"  # some other value is not the end
    return WatchEvent(EventType.BOOKMARK, None, meta.resource_version, ends)
