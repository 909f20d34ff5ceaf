# SPDX-License-Identifier: Apache-2.0
"""Conversion of aiohttp's requests to the values that a handler takes: first the head, then the body."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qsl, unquote, urlsplit

from aiohttp.web_request import BaseRequest

from apimachinery.http import BODY_LIMIT, VALUE_SEPARATOR, HTTPRequest, storable

BODIES_LIMIT = 64 * 1024 * 1024
"""The most bytes of all bodies that are being received or whose requests are being answered."""

# Seconds in which a body has to arrive.
_PATIENCE = 30.0


def request_of(request: BaseRequest, headers: dict[str, str], body: bytes = b"") -> HTTPRequest:
    """Return aiohttp's request as an `HTTPRequest` with these headers and this body."""
    return HTTPRequest(request.method, *_target(request), headers, body)


def headers_of(request: BaseRequest) -> dict[str, str]:
    """Return the headers of a request by name, in lower case. Values of repeated headers are joined by commas.

    Values of impersonation headers are joined by a line feed, because the name of a group may contain a comma.
    """
    headers: dict[str, str] = {}
    for name, raw in request.headers.items():
        key, value = name.lower(), storable(raw)
        if key in headers:
            value = f"{headers[key]}{VALUE_SEPARATOR if key.startswith('impersonate-') else ', '}{value}"
        headers[key] = value
    return headers


def body_at_hand(request: BaseRequest) -> bytes | None:
    """Return the body if it is empty or has already arrived; None if it is still arriving.

    With the header `Expect` the result is None, unless the body is empty: the client may wait for an interim response
    (100) before it sends the body.
    """
    content = request.content
    if content.at_eof():
        return b""
    return content.read_nowait() if content.is_eof() and "Expect" not in request.headers else None


async def read_body(request: BaseRequest) -> bytes:
    """Return the whole body; of a body longer than `BODY_LIMIT` only that many bytes and one more, so that the handler
    refuses it.

    Raises:
        TimeoutError: The body does not arrive in time. With aiohttp, a body with malformed chunks never arrives.
    """
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    parts: list[bytes] = []
    size = 0
    async with asyncio.timeout(_PATIENCE):
        while size <= BODY_LIMIT and (part := await request.content.readany()):
            parts.append(part)
            size += len(part)
    return b"".join(parts)[: BODY_LIMIT + 1]


class Bodies:
    """The limit on the total size of all request bodies in memory. Threads: only the event loop's."""

    def __init__(self) -> None:
        self._held = 0

    def reserve(self, request: BaseRequest) -> int | None:
        """Reserve memory for the body of `request`; return the number of bytes to `release`, or None if the limit is
        reached.

        A body of unknown length counts as one of the maximum length.
        """
        declared = request.content_length
        size = BODY_LIMIT + 1 if declared is None else min(declared, BODY_LIMIT + 1)
        if self._held + size > BODIES_LIMIT:
            return None
        self._held += size
        return size

    def release(self, size: int) -> None:
        """Release `size` reserved bytes."""
        self._held -= size


def _target(request: BaseRequest) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return path and query of the request line, percent-decoded. Those of aiohttp are normalised, which loses `//`."""
    target = storable(request.raw_path)
    if not target.startswith("/"):
        parts = urlsplit(target)  # the absolute form, as for a proxy
        target = f"{parts.path or '/'}?{parts.query}"
    path, _, query = target.partition("?")
    return unquote(path), tuple(parse_qsl(query, keep_blank_values=True)) if query else ()
