# SPDX-License-Identifier: Apache-2.0
"""Frames of SPDY/3.1, as far as `kubectl port-forward` needs them: streams with headers, their data and their ends.

The protocol is that of draft-mbelshe-httpbis-spdy-00, section 2. There is no flow control, because the clients of
Kubernetes have none either.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import NamedTuple

SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
"""The types of control frames that are understood. Others are ignored."""
DATA = 0
"""The type that this module gives to data frames, which have no type in the protocol."""
FIN = 1
"""The flag of the last frame of a stream in its direction."""

_CONTROL, _VERSION = 0x80, 3
_LONGEST = 1024 * 1024
"""The most bytes of a frame; clients send 32 KiB at once."""
_LONGEST_HEADERS = 64 * 1024
_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_CODES = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _sized(text: bytes) -> bytes:
    return struct.pack(">I", len(text)) + text


DICTIONARY = b"".join(_sized(word.replace("_", " ").encode()) for word in _WORDS.split()) + _CODES.encode()
"""The dictionary with which headers are compressed; section 2.6.10.1."""


class Malformed(Exception):
    """Bytes are not valid frames of SPDY/3.1."""


class SPDYFrame(NamedTuple):
    """One frame of SPDY/3.1.

    Attributes:
        type: The type of the frame, such as `SYN_REPLY`.
        stream: The id of the stream; for a ping its number.
        flags: The flags of the frame, such as `FIN`.
        data: The data of a `DATA` frame.
        headers: The headers of a new stream, with names in lower case.
    """

    type: int
    stream: int
    flags: int = 0
    data: bytes = b""
    headers: Mapping[str, str] = {}


class Decoder:
    """Decodes frames from a sequence of byte strings. Threads: one."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._headers = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> list[SPDYFrame]:
        """Add `data`, and return the frames that are now complete.

        Raises:
            Malformed: The bytes are not valid frames.
        """
        self._rest += data
        frames = []
        while len(self._rest) >= 8:
            size = int.from_bytes(self._rest[5:8], "big")
            if size > _LONGEST:
                raise Malformed(f"a frame of {size} bytes")
            if len(self._rest) < 8 + size:
                break
            head, body = bytes(self._rest[:8]), bytes(self._rest[8 : 8 + size])
            del self._rest[: 8 + size]
            frames.append(self._frame(head, body))
        return frames

    def _frame(self, head: bytes, body: bytes) -> SPDYFrame:
        first, flags = int.from_bytes(head[:4], "big"), head[4]
        if not head[0] & _CONTROL:
            return SPDYFrame(DATA, first, flags, body)
        version, kind = (first >> 16) & 0x7FFF, first & 0xFFFF
        if version != _VERSION:
            raise Malformed(f"version {version}")
        if len(body) < 4:
            return SPDYFrame(kind, 0, flags)
        number = int.from_bytes(body[:4], "big")
        if kind == PING:
            return SPDYFrame(kind, number)
        return SPDYFrame(kind, number & 0x7FFFFFFF, flags, b"", self._read(body[10:]) if kind == SYN_STREAM else {})

    def _read(self, compressed: bytes) -> Mapping[str, str]:
        try:
            block = self._headers.decompress(compressed, _LONGEST_HEADERS)
        except zlib.error as error:
            raise Malformed(str(error)) from None
        texts, place = [], 4
        while place + 4 <= len(block):
            size = int.from_bytes(block[place : place + 4], "big")
            texts.append(block[place + 4 : place + 4 + size].decode(errors="replace"))
            place += 4 + size
        return {name.lower(): value for name, value in zip(texts[::2], texts[1::2], strict=False)}


class Encoder:
    """Encodes frames. Threads: one at a time."""

    def __init__(self) -> None:
        self._headers = zlib.compressobj(9, zdict=DICTIONARY)

    def reply(self, stream: int) -> bytes:
        """Return the frame that accepts a stream (`SYN_REPLY`), without headers."""
        block = self._headers.compress(struct.pack(">I", 0)) + self._headers.flush(zlib.Z_SYNC_FLUSH)
        return control(SYN_REPLY, struct.pack(">I", stream) + block)


def control(kind: int, body: bytes, flags: int = 0) -> bytes:
    """Return a control frame of type `kind`."""
    return struct.pack(">HHI", _CONTROL << 8 | _VERSION, kind, flags << 24 | len(body)) + body


def data(stream: int, payload: bytes, *, fin: bool = False) -> bytes:
    """Return a data frame for a stream; with `fin` it is the last one."""
    return struct.pack(">II", stream, (FIN if fin else 0) << 24 | len(payload)) + payload
