# SPDX-License-Identifier: Apache-2.0
"""The form of an object in a store: its key, and one `bytes` with the rest of its header and its packed JSON."""

from __future__ import annotations

import sys
from typing import Protocol

from apimachinery.errors import DecodeError
from apimachinery.objects import Cached, PlainKey

_LONGEST = 255
"""The most bytes that a uid or a resourceVersion has in a header, which gives each length one byte."""

_LENGTHS = 2

BESIDE = 56 + 24 + 16
"""Bytes of an object in a store beside its `bytes`, its name and its value: the tuple of its key, and its entry in the
store's dict, which has between 1 and 2 places for each object."""


_EMPTY = BESIDE + 16 + 3 * 8 + sys.getsizeof(b"") + sys.getsizeof("")
"""The same with the value of three fields, and what `bytes` and a name take without their content."""


class Codec(Protocol):
    """Packs the JSON of objects and unpacks it; a value of a store keeps the one by which it was packed.

    Threads: any.
    """

    def pack(self, raw: bytes) -> bytes | None:
        """Return the packed form of `raw`; None if it would not be smaller."""

    def unpack(self, payload: memoryview) -> bytes:
        """Return what was packed.

        Raises:
            DecodeError: The payload is damaged, or was packed by another codec.
        """

    def size(self, payload: memoryview) -> int:
        """Return the bytes of what was packed, without unpacking it."""


class Plain:
    """The codec of objects that are not compressed."""

    def pack(self, raw: bytes) -> bytes:
        """Return `raw`."""
        return raw

    def unpack(self, payload: memoryview) -> bytes:
        """Return the payload as `bytes`."""
        return bytes(payload)

    def size(self, payload: memoryview) -> int:
        """Return the bytes of the payload."""
        return len(payload)


PLAIN: Codec = Plain()


class Packed(Cached, gc=False, frozen=True, eq=False):
    """One object in a store; see `packed`.

    Beside a `Received`, it is without a text for each of uid and resourceVersion, and its key is the one of the
    store's dict.

    Attributes:
        plain_key: Its name and namespace.
        body: The lengths of uid and resourceVersion, one byte each; these two; and the payload of the codec.
        codec: Unpacks the payload.

    Threads: any.
    """

    plain_key: PlainKey
    body: bytes
    codec: Codec

    @property
    def raw(self) -> bytes:
        """The object's JSON, unpacked at each access.

        Raises:
            DecodeError: The payload is damaged; the message names the object.
        """
        try:
            return self.codec.unpack(self._payload)
        except DecodeError as error:
            raise DecodeError(f"{self.key}: {error}") from error

    @property
    def name(self) -> str:
        """The object's name."""
        return self.plain_key[0]

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.plain_key[1]

    @property
    def uid(self) -> str:
        """Its uid."""
        return self.body[_LENGTHS : _LENGTHS + self.body[0]].decode()

    @property
    def resource_version(self) -> str:
        """Its resourceVersion."""
        start = _LENGTHS + self.body[0]
        return self.body[start : start + self.body[1]].decode()

    @property
    def size(self) -> int:
        """The bytes of its JSON; nothing is unpacked."""
        if self.codec is PLAIN:  # most are, and a record of reads asks for each
            return len(self.body) - _LENGTHS - self.body[0] - self.body[1]
        return self.codec.size(self._payload)

    @property
    def held(self) -> int:
        """The bytes of memory that a store needs for it."""
        return len(self.body) + len(self.plain_key[0]) + _EMPTY

    @property
    def _payload(self) -> memoryview:
        body = self.body
        return memoryview(body)[_LENGTHS + body[0] + body[1] :]


def packed(cached: Cached, codec: Codec, like: Cached | None = None) -> Cached:
    """Return the form in which a store keeps an object.

    Args:
        cached: The object.
        codec: Packs it; if it cannot make it smaller, the JSON is kept as it is.
        like: The state before, whose key is used again, so that each object has its name in memory once.

    Returns:
        A `Packed`; `cached` itself if its header does not fit, as no server of Kubernetes sends one.
    """
    uid, version = cached.uid.encode(), cached.resource_version.encode()
    if len(uid) > _LONGEST or len(version) > _LONGEST:
        return cached
    raw = cached.raw
    payload = codec.pack(raw)
    if payload is None:
        codec, payload = PLAIN, raw
    # The join also gives the result its own size: a compressor's has room for the worst case.
    body = b"".join((bytes((len(uid), len(version))), uid, version, payload))
    return Packed((like or cached).plain_key, body, codec)


def is_plain(cached: Cached) -> bool:
    """Return whether the JSON of an object is in memory as it is."""
    return not isinstance(cached, Packed) or cached.codec is PLAIN


def held_by(cached: Cached) -> int:
    """Return the bytes of memory that a store needs for an object in either form, as an estimate."""
    if isinstance(cached, Packed):
        return cached.held
    texts = cached.raw, cached.name, cached.uid, cached.resource_version
    return sys.getsizeof(cached) + sum(map(sys.getsizeof, texts)) + BESIDE
