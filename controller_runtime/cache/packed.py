# SPDX-License-Identifier: Apache-2.0
"""The packed form of an object in a store: its key, and one `bytes` with the rest of its header and its JSON."""

from __future__ import annotations

import sys
from typing import Protocol

from apimachinery.errors import DecodeError
from apimachinery.objects import Cached, PlainKey

_LONGEST = 255
"""The most bytes that a uid or a resourceVersion has in a header, which gives each length one byte."""

_LENGTHS = 2

BESIDE = 56 + 24 + 16
"""The bytes that an object in a store takes in addition to its `bytes`, its name and its value: the tuple of its key,
and its entry in the store's dict, which has between 1 and 2 places for each object.
"""


_EMPTY = BESIDE + 16 + 3 * 8 + sys.getsizeof(b"") + sys.getsizeof("")
"""The same with the value of three fields, and what `bytes` and a name take without their content."""


class Codec(Protocol):
    """Packs and unpacks the JSON of objects. Each stored object refers to the codec by which it was packed.

    Threads: any.
    """

    def pack(self, raw: bytes) -> bytes | None:
        """Return the packed form of `raw`; None if it would not be smaller."""

    def unpack(self, payload: memoryview) -> bytes:
        """Return the original bytes of a payload.

        Raises:
            DecodeError: The payload is damaged, or was packed by another codec.
        """

    def size(self, payload: memoryview) -> int:
        """Return the number of original bytes of a payload, without unpacking it."""


class Plain:
    """A codec that does not compress."""

    def pack(self, raw: bytes) -> bytes:
        """Return `raw` unchanged."""
        return raw

    def unpack(self, payload: memoryview) -> bytes:
        """Return the payload as `bytes`."""
        return bytes(payload)

    def size(self, payload: memoryview) -> int:
        """Return the size of the payload in bytes."""
        return len(payload)


PLAIN: Codec = Plain()


class Packed(Cached, gc=False, frozen=True, eq=False):
    """An object in the compact form in which a store keeps it; made by `packed`.

    It takes less memory than a `Received`: uid and resourceVersion are not separate strings, and its key is the one in
    the store's dict.

    Attributes:
        plain_key: The name and namespace of the object.
        body: The lengths of uid and resourceVersion, one byte each; then both; then the payload of the codec.
        codec: Unpacks the payload.

    Threads: any.
    """

    plain_key: PlainKey
    body: bytes
    codec: Codec

    @property
    def raw(self) -> bytes:
        """The object's JSON; each access unpacks it.

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
        """The object's namespace."""
        return self.plain_key[1]

    @property
    def uid(self) -> str:
        """The object's uid."""
        return self.body[_LENGTHS : _LENGTHS + self.body[0]].decode()

    @property
    def resource_version(self) -> str:
        """The object's resourceVersion."""
        start = _LENGTHS + self.body[0]
        return self.body[start : start + self.body[1]].decode()

    @property
    def size(self) -> int:
        """The size of the object's JSON in bytes; nothing is unpacked."""
        if self.codec is PLAIN:  # most are, and a record of reads asks for each
            return len(self.body) - _LENGTHS - self.body[0] - self.body[1]
        return self.codec.size(self._payload)

    @property
    def _payload(self) -> memoryview:
        body = self.body
        return memoryview(body)[_LENGTHS + body[0] + body[1] :]


def packed(cached: Cached, codec: Codec, like: Cached | None = None) -> Cached:
    """Return the form in which a store keeps an object.

    Args:
        cached: The object.
        codec: Packs the JSON; if the result would not be smaller, the JSON is kept as it is.
        like: The previous state of the object, whose key is reused, so that each name is in memory only once.

    Returns:
        A `Packed`; or `cached` itself if its uid or version is too long, which does not happen with Kubernetes.
    """
    uid, version = cached.uid.encode(), cached.resource_version.encode()
    if len(uid) > _LONGEST or len(version) > _LONGEST:
        return cached
    raw = cached.raw
    payload = raw if codec is PLAIN else codec.pack(raw)
    if payload is None:
        codec, payload = PLAIN, raw
    # The join also gives the result its own size: a compressor's has room for the worst case.
    body = b"".join((bytes((len(uid), len(version))), uid, version, payload))
    return Packed((like or cached).plain_key, body, codec)


def is_plain(cached: Cached) -> bool:
    """Return whether the JSON of an object is in memory uncompressed."""
    return not isinstance(cached, Packed) or cached.codec is PLAIN


def bytes_of(cached: Cached, json: int | None = None) -> tuple[int, int]:
    """Return two sizes of an object in either form, in bytes: the memory that a store needs for it, as an estimate, and
    its JSON.

    `json` is the second one if the caller knows it; nothing is unpacked for it in any case.
    """
    if isinstance(cached, Packed):
        body = cached.body
        if cached.codec is PLAIN:
            json = len(body) - _LENGTHS - body[0] - body[1]
        return len(body) + len(cached.plain_key[0]) + _EMPTY, cached.size if json is None else json
    texts = cached.raw, cached.name, cached.uid, cached.resource_version
    return sys.getsizeof(cached) + sum(map(sys.getsizeof, texts)) + BESIDE, len(texts[0])
