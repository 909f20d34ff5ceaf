# SPDX-License-Identifier: Apache-2.0
"""The forms in which objects are served: bytes in front and behind, nothing encoded again.

Every form answers the same four questions (an object, a list, an event, a bookmark), so
that a watch or a list need not know which one the client has asked for.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Protocol

import msgspec

from controller_runtime.apiserver.storage.stored import Change, Stored


class EventType(enum.StrEnum):
    """What a watcher is told of an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Form(Protocol):
    """How the objects of one kind are put into whole answers."""

    @property
    def content_type(self) -> str:
        """The media type of these answers."""

    def single(self, raw: bytes) -> bytes:
        """One object."""

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None) -> bytes:
        """A list read at `version`, with the token of its next page (empty for none) and what follows it."""


class LineForm(Form, Protocol):
    """A form that has lines, too, so that one can watch in it."""

    def event(self, type_: EventType, change: Change) -> bytes:
        """One line of a watch: what `change` means to a watcher."""

    def initial(self, item: Stored) -> bytes:
        """One line of a watch: an object that was there when it began."""

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """One line of a watch: nothing is missing up to `version`."""


class JSONForm:
    """The objects whole, as JSON.

    Args:
        api_version: As objects carry it.
        kind: Of the objects.
        list_kind: Of lists; the kind with `List` if it is not said.
        items_named: Whether each item of a list says what it is, as those of custom kinds do.
    """

    content_type = "application/json"

    def __init__(self, api_version: str, kind: str, list_kind: str = "", *, items_named: bool = False) -> None:
        head = f'"apiVersion":"{api_version}",'
        self._single = f'{{"kind":"{kind}",{head}'.encode()
        self._list = f'{{"kind":"{list_kind or f"{kind}List"}",{head}"metadata":'.encode()
        self._items_named = items_named
        self._event = {type_: b'{"type":"%b","object":%b' % (type_.value.encode(), self._single) for type_ in EventType}
        self._bookmark = b'{"type":"BOOKMARK","object":' + self._single

    def single(self, raw: bytes) -> bytes:
        """One object, by its bytes without kind and apiVersion."""
        return self._single + raw[1:]

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None) -> bytes:
        """A list; its items carry neither kind nor apiVersion, unless they are named."""
        metadata: dict[str, str | int] = {"resourceVersion": str(version)}
        if token:
            metadata["continue"] = token
        if remaining:
            metadata["remainingItemCount"] = remaining
        raws = [self.single(item.raw) if self._items_named else item.raw for item in items] or [b""]
        # What stands around the items is put on the outer ones: the rest is copied once.
        raws[0] = b'%b%b,"items":[%b' % (self._list, msgspec.json.encode(metadata), raws[0])
        raws[-1] += b"]}\n"
        return b",".join(raws)

    def event(self, type_: EventType, change: Change) -> bytes:
        """A line built once, however many watchers take it."""
        return change.line(self._event[type_], gone=type_ is EventType.DELETED)

    def line(self, type_: EventType, raw: bytes) -> bytes:
        """A line built for one watcher."""
        return b"".join((self._event[type_], memoryview(raw)[1:], b"}\n"))

    def initial(self, item: Stored) -> bytes:
        """An object that was there before, as added."""
        return self.line(EventType.ADDED, item.raw)

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """A version, with the annotation that ends the initial events if they end here."""
        annotations = b',"annotations":{"k8s.io/initial-events-end":"true"}' if initial_end else b""
        return b'%b"metadata":{"resourceVersion":"%d"%b}}}\n' % (self._bookmark, version, annotations)


@functools.lru_cache
def json_form(api_version: str, kind: str, list_kind: str = "", *, items_named: bool = False) -> JSONForm:
    """The form of a kind; one for all requests."""
    return JSONForm(api_version, kind, list_kind, items_named=items_named)


def error_line(status: dict[str, object]) -> bytes:
    """The line that ends a watch with a failure."""
    return msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n"
