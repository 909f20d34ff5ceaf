# SPDX-License-Identifier: Apache-2.0
"""Answers on their way to their readers. One rule: what is handed over is taken within 30 s, or the connection ends."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

from aiohttp import web

from controller_runtime.api.http import HTTPResponse
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

PART = 256 * 1024
"""Bytes that are handed over at once, and those of one connection that may wait in this process: each layer below
copies what it is given."""
PENDING_LIMIT = 256 * 1024 * 1024
"""Bytes of long answers that may wait for their readers before further long reads are refused."""

# Seconds in which a reader has to take what is handed over.
_STALL_LIMIT = 30.0
# Bytes that a connection with nothing in its buffer takes without a wait.
_SHORT = 16 * 1024


class _Abortable(Protocol):
    def abort(self) -> None: ...


def progress() -> asyncio.Timeout:
    """Bounds one wait for a reader."""
    return asyncio.timeout(_STALL_LIMIT)


def give_up(request: web.BaseRequest, connection: _Abortable) -> None:
    """End the connection of a reader that has stopped reading."""
    log.warning("connection closed, its reader has stopped reading", path=request.path)
    connection.abort()


def short_response(request: web.BaseRequest, answer: HTTPResponse, *, last: bool) -> web.StreamResponse | None:
    """The response if it fits into what may wait for the reader, so that aiohttp can send it at once; else None."""
    transport = request.transport
    if transport is None or len(answer.body) > _SHORT or transport.get_write_buffer_size():
        return None
    return _whole(answer, last)


def _whole(answer: HTTPResponse, last: bool) -> web.Response:
    response = web.Response(status=answer.status, headers=answer.headers, body=answer.body)
    if last:
        response.force_close()
    return response


class Sender:
    """Sends whole answers.

    Attributes:
        pending: Bytes of the long ones that are on their way.

    Threads: the event loop's.
    """

    def __init__(self) -> None:
        self.pending = 0

    async def send(self, request: web.BaseRequest, answer: HTTPResponse, *, last: bool = False) -> web.StreamResponse:
        """Answer as fast as the reader takes it; `last` closes the connection afterwards."""
        if len(answer.body) > PART and request.method != "HEAD":  # which has no body, whatever is written
            return await self._send_parts(request, answer, last)
        response = _whole(answer, last)
        transport = request.transport
        if transport is None:  # the reader has gone
            return response
        with contextlib.suppress(ConnectionError):  # the reader may go at any time
            try:
                async with progress():
                    await response.prepare(request)
                    await response.write_eof()
            except TimeoutError:
                give_up(request, transport)
        return response

    async def _send_parts(self, request: web.BaseRequest, answer: HTTPResponse, last: bool) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        response.content_length = size = len(answer.body)
        if last:
            response.force_close()
        transport = request.transport
        if transport is None:
            return response
        transport.set_write_buffer_limits(PART)
        body = memoryview(answer.body)
        self.pending += size
        try:
            await response.prepare(request)
            for start in range(0, size, PART):
                async with progress():
                    await response.write(body[start : start + PART])
            async with progress():
                await response.write_eof()
        except TimeoutError:
            give_up(request, transport)
        except ConnectionError:  # the reader may go at any time
            pass
        finally:
            self.pending -= size
        return response
