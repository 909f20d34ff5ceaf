# SPDX-License-Identifier: Apache-2.0
"""Sending of answers. A client that does not read for 30 s is disconnected, because its answer occupies memory."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse

from apimachinery.http import HTTPResponse
from apimachinery.log import get_logger

log = get_logger(__name__)

PART = 256 * 1024
"""Bytes that are written to a connection at once, and that may wait in its buffer. Each layer below copies what is
written, so a long answer is not written as a whole."""
PENDING_LIMIT = 256 * 1024 * 1024
"""Bytes of long answers that are being sent, from which on further heavy reads are refused."""

# Seconds in which a client has to read what was written.
_STALL_LIMIT = 30.0
# Bytes that a connection with an empty buffer accepts without waiting.
_SHORT = 16 * 1024


class _Abortable(Protocol):
    def abort(self) -> None: ...


def progress() -> asyncio.Timeout:
    """Return a timeout context (30 s) for waiting until a client reads more of a response."""
    return asyncio.timeout(_STALL_LIMIT)


def give_up(request: BaseRequest, connection: _Abortable) -> None:
    """Abort the connection of a client that has stopped reading, and log a warning."""
    log.warning("connection closed, its client has stopped reading", path=request.path)
    connection.abort()


def cut(request: BaseRequest) -> StreamResponse:
    """Close the connection of a request without a response."""
    if request.transport is not None:
        request.transport.abort()
    return Response()  # no client gets it


def short_response(request: BaseRequest, answer: HTTPResponse, *, last: bool) -> StreamResponse | None:
    """Return `answer` as a response of aiohttp if it is short and the connection's buffer is empty; otherwise None.

    aiohttp can send such a response immediately, without the timeout and the task switches of `Sender`. If `last` is
    True, it closes the connection afterwards.
    """
    transport = request.transport
    if transport is None or len(answer.body) > _SHORT or transport.get_write_buffer_size():
        return None
    return _whole(answer, last)


def _whole(answer: HTTPResponse, last: bool) -> Response:
    response = Response(status=answer.status, headers=answer.headers, body=answer.body)
    if last:
        response.force_close()
    return response


class Sender:
    """Sends responses that are not watches.

    Attributes:
        pending: The total size of the long responses in progress, in bytes.

    Threads: only the event loop's.
    """

    def __init__(self) -> None:
        self.pending = 0

    async def send(self, request: BaseRequest, answer: HTTPResponse, *, last: bool = False) -> StreamResponse:
        """Send a response as fast as the client reads it; if `last` is True, the connection is closed afterwards."""
        if len(answer.body) > PART and request.method != "HEAD":  # aiohttp writes no body in answer to HEAD
            return await self._send_parts(request, answer, last)
        response = _whole(answer, last)
        transport = request.transport
        if transport is None:  # the client has disconnected
            return response
        with contextlib.suppress(ConnectionError):  # the client may disconnect at any time
            try:
                async with progress():
                    await response.prepare(request)
                    await response.write_eof()
            except TimeoutError:
                give_up(request, transport)
        return response

    async def _send_parts(self, request: BaseRequest, answer: HTTPResponse, last: bool) -> StreamResponse:
        response = StreamResponse(status=answer.status, headers=answer.headers)
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
        except ConnectionError:  # the client may disconnect at any time
            pass
        finally:
            self.pending -= size
        return response
