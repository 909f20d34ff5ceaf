# SPDX-License-Identifier: Apache-2.0
"""Lists: the resourceVersion that a list shows, and its pages, which all show the same one.

A resourceVersion that does not exist yet is refused at once. A real API server first waits up to three seconds; here
that would block the caller's thread, and clients repeat the request in either case.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import re
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from apimachinery.decoding import decoder_of
from embedded_apiserver.go_texts import no_json
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.list_options import ListOptions, version_number
from embedded_apiserver.reads.selection import Selection
from embedded_apiserver.status import StatusError, bad_request, expired, too_large_version
from embedded_apiserver.storage.history import Compacted
from embedded_apiserver.storage.storage import Snapshot, Storage
from embedded_apiserver.storage.stored import Stored

_BASE64 = re.compile("[A-Za-z0-9_-]+")
_NEWEST = -1  # in a token: go on with the newest state, because the state of the first page is forgotten


class Page(NamedTuple):
    """One page of a list.

    Attributes:
        items: The objects, in the order of their keys.
        version: The resourceVersion of the listed state.
        token: The `continue` token of the next page; empty on the last page.
        remaining: The number of objects after this page. None on the last page, or with a label or field selector,
            because each further object would have to be compared with it. A shard selector is ignored in the number.
        shards: The shard selector of the list; empty if absent.
    """

    items: Sequence[Stored]
    version: int
    token: str = ""
    remaining: int | None = None
    shards: str = ""


class _Token(msgspec.Struct, frozen=True):
    """The place where the next page begins: after the key `start`, in the state of resourceVersion `rv`.

    If `rv` is `_NEWEST`, that is the newest state.
    """

    rv: int
    start: str

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).rstrip(b"=").decode()

    @classmethod
    def parse(cls, text: str) -> _Token:
        problem: object = f"illegal base64 data at input byte {_first_illegal(text)}"
        try:
            if _BASE64.fullmatch(text):
                content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
                if not (problem := no_json(content)):
                    return _decode(content)
        except (binascii.Error, ValueError) as error:  # a DecodeError of msgspec is a ValueError
            problem = error
        raise bad_request(f"invalid continue token: continue key is not valid: {problem}")


_decode: Callable[[bytes], _Token] = decoder_of(_Token)


def _first_illegal(text: str) -> int:
    """Return the position of what is not base64; that of the last group if only its length is wrong."""
    return next((place for place, one in enumerate(text) if not _BASE64.fullmatch(one)), len(text) // 4 * 4)


def too_old(asked: int, forgotten: Compacted) -> StatusError:
    """Return a 410 error for a resourceVersion whose history the storage has dropped."""
    return expired(f"too old resource version: {asked} ({forgotten.oldest})")


def page_of(storage: Storage, kind: Kind, selection: Selection, options: ListOptions) -> Page:
    """Return the page of the selected objects that `options` request.

    Raises:
        StatusError: 400, the token or resourceVersion is invalid; 410, its state has been dropped; 504, the
            resourceVersion is newer than the storage.
    """
    if options.token:
        token = _Token.parse(options.token)
        if options.version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        snapshot = _state(storage, kind.resource, selection, None if token.rv == _NEWEST else token.rv, token.start)
        following = bisect.bisect_right(snapshot.items, token.start, key=attrgetter("key"))
        return _cut(snapshot, following, selection, options.limit)
    asked = version_number(options.version, of_list=True)
    if asked > storage.version:
        raise too_large_version(asked, storage.version, is_cached=kind.is_cached)
    snapshot = _state(storage, kind.resource, selection, asked if options.is_exact else None)
    # Version 0 asks for any state. A real server answers it from its cache, which ignores the limit.
    return _cut(snapshot, 0, selection, 0 if options.version == "0" else options.limit)


def _state(storage: Storage, collection: str, selection: Selection, at: int | None, start: str = "") -> Snapshot:
    if at is not None and at > storage.version:
        raise too_large_version(at, storage.version)
    try:
        return storage.read(collection, selection.prefix, at)
    except Compacted:
        if start:
            text = "the continue token has expired; go on with the newest state by the token given, or list again"
            raise expired(text, str(_Token(_NEWEST, start))) from None
        raise expired("The resourceVersion for the provided list is too old.") from None


def _cut(snapshot: Snapshot, start: int, selection: Selection, limit: int) -> Page:
    """Return the page of at most `limit` selected objects (0: all) from position `start` on."""
    items = snapshot.items[start:] if start else snapshot.items
    if not selection.is_narrowed:
        if not 0 < limit < len(items):
            return Page(items, snapshot.version)
        page, remaining = items[:limit], len(items) - limit
        return Page(page, snapshot.version, _after(snapshot, page), remaining)
    shards = selection.shards
    selected: list[Stored] = []
    for place, item in enumerate(items, 1):
        if selection.matches(item):
            selected.append(item)
            if len(selected) == limit:
                # Like a real server, do not look whether one of the others is selected.
                is_last = place == len(items) or selection.is_single
                if is_last:
                    return Page(selected, snapshot.version, shards=shards)
                # It counts the objects of other shards, too, even those that it has passed.
                left = len(items) - limit if selection.is_counted else None
                return Page(selected, snapshot.version, _after(snapshot, selected), left, shards)
    return Page(selected, snapshot.version, shards=shards)


def _after(snapshot: Snapshot, page: Sequence[Stored]) -> str:
    return str(_Token(snapshot.version, page[-1].key))
