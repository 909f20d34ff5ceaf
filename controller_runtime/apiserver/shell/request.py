# SPDX-License-Identifier: Apache-2.0
"""A request as aiohttp has it, read into the value that a server's core takes: first the head, then the body."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qsl, unquote, urlsplit

from aiohttp import web

from controller_runtime.api.http import BODY_LIMIT, HTTPRequest, storable

BODIES_LIMIT = 64 * 1024 * 1024
"""Bytes of all bodies that arrive, or wait for their answers, at one time."""

# Seconds that a body may take to arrive.
_PATIENCE = 30.0


def request_of(request: web.BaseRequest, headers: dict[str, str], body: bytes = b"") -> HTTPRequest:
    """The request, with what was read of it."""
    return HTTPRequest(request.method, *_target(request), headers, body)


def headers_of(request: web.BaseRequest) -> dict[str, str]:
    """The headers by their names in lower case; repeated ones joined."""
    headers: dict[str, str] = {}
    for name, raw in request.headers.items():
        key, value = name.lower(), storable(raw)
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


def body_at_hand(request: web.BaseRequest) -> bytes | None:
    """The body if there is none or it came with the head, as most do; None if it is on its way."""
    content = request.content
    if content.at_eof():
        return b""
    return content.read_nowait() if content.is_eof() and "Expect" not in request.headers else None


async def read_body(request: web.BaseRequest) -> bytes:
    """The whole body, or the first byte too many of it.

    Raises:
        TimeoutError: The body does not arrive; nor does one whose chunks are broken, as aiohttp has it.
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
    """The bytes of bodies in hand, bounded. Threads: the event loop's."""

    def __init__(self) -> None:
        self._held = 0

    def reserve(self, request: web.BaseRequest) -> int | None:
        """Bytes that are now held for the body of `request` until their `release`; None if there is no room for it."""
        declared = request.content_length
        size = BODY_LIMIT + 1 if declared is None else min(declared, BODY_LIMIT + 1)
        if self._held + size > BODIES_LIMIT:
            return None
        self._held += size
        return size

    def release(self, size: int) -> None:
        """Give back what was reserved."""
        self._held -= size


def _target(request: web.BaseRequest) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Path and query as they stand on the wire, percent-decoded; aiohttp's own are normalised."""
    target = storable(request.raw_path)
    if not target.startswith("/"):
        parts = urlsplit(target)  # the absolute form, as for a proxy
        target = f"{parts.path or '/'}?{parts.query}"
    path, _, query = target.partition("?")
    return unquote(path), tuple(parse_qsl(query, keep_blank_values=True)) if query else ()
