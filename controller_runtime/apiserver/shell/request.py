# SPDX-License-Identifier: Apache-2.0
"""A request as aiohttp has it, read into the value that a server's core takes."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qsl, unquote, urlsplit

from aiohttp import web

from controller_runtime.api.http import BODY_LIMIT, HTTPRequest, storable

# Seconds that a body may take to arrive.
_PATIENCE = 30.0


async def read(request: web.BaseRequest) -> HTTPRequest:
    """The request with its whole body, or with the first byte too many of it; its text can be stored as it is.

    Raises:
        TimeoutError: The body does not arrive; nor does one whose chunks are broken, as aiohttp has it.
    """
    return HTTPRequest(request.method, *_target(request), _headers(request), await _body(request))


def _target(request: web.BaseRequest) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Path and query as they stand on the wire, percent-decoded; aiohttp's own are normalised."""
    target = storable(request.raw_path)
    if not target.startswith("/"):
        parts = urlsplit(target)  # the absolute form, as for a proxy
        target = f"{parts.path or '/'}?{parts.query}"
    path, _, query = target.partition("?")
    return unquote(path), tuple(parse_qsl(query, keep_blank_values=True)) if query else ()


def _headers(request: web.BaseRequest) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, raw in request.headers.items():
        key, value = name.lower(), storable(raw)
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


async def _body(request: web.BaseRequest) -> bytes:
    if not request.can_read_body:
        return b""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if request.content.is_eof():  # as a rule: it came with the head
        return await request.content.read(BODY_LIMIT + 1)
    parts: list[bytes] = []
    size = 0
    async with asyncio.timeout(_PATIENCE):
        while size <= BODY_LIMIT and (part := await request.content.readany()):
            parts.append(part)
            size += len(part)
    return b"".join(parts)[: BODY_LIMIT + 1]
