# SPDX-License-Identifier: Apache-2.0
"""Finds HTTP/1.1 requests in the bytes of a connection: only the end, method and path of each."""

from __future__ import annotations

import re
from typing import NamedTuple

_REQUEST = re.compile(rb"[A-Z]+ \S+ HTTP/1\.[01]\r\n")
_FIRST = re.compile(rb"[A-Z]{1,20}( [^\r\n]*)?\r?\Z")
_CHUNK = re.compile(rb"([0-9a-fA-F]+)[^\r\n]*\r\n")
_SAFE = ("GET", "HEAD", "OPTIONS")


class NotHTTP(Exception):
    """The bytes are not a request of HTTP/1.1 or HTTP/1.0; they may be TLS."""


class Found(NamedTuple):
    """A complete request.

    Attributes:
        text: The method and the path, without the query, which may hold a secret.
        reads: True if the request changes nothing.
        length: The number of bytes, including the body.
    """

    text: str
    reads: bool
    length: int


def first_request(data: bytes) -> Found | None:
    """Return the request at the beginning of `data`; None if it is incomplete.

    Raises:
        NotHTTP: `data` does not begin with a request of HTTP/1.1 or HTTP/1.0.
    """
    if not _REQUEST.match(data):
        if b"\n" in data or (data and not _FIRST.match(data)):
            raise NotHTTP
        return None
    head, end, _ = data.partition(b"\r\n\r\n")
    if not end:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    begin = len(head) + len(end)
    if "chunked" in fields.get("transfer-encoding", "").lower():
        length = _end_of_chunks(data, begin)
    else:
        length = begin + int(fields.get("content-length") or 0)
    if length is None or len(data) < length:
        return None
    method, target, _ = first.split(" ")
    return Found(f"{method} {target.partition('?')[0]}", method in _SAFE, length)


def _end_of_chunks(data: bytes, at: int) -> int | None:
    """Return where a body in chunks ends; None if it is not complete yet."""
    while found := _CHUNK.match(data, at):
        size = int(found[1], 16)
        if size == 0:
            end = data.find(b"\r\n\r\n", found.end() - 2)  # trailers may come before it
            return None if end < 0 else end + 4
        at = found.end() + size + 2
    return None
