# SPDX-License-Identifier: Apache-2.0
"""The delivery of one upgraded connection: the messages of a WebSocket to the core, and those of the core to it."""

from __future__ import annotations

import asyncio
import contextlib

from aiohttp.http import WSMsgType
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse
from aiohttp.web_ws import WebSocketResponse

from apimachinery.http import Upgraded, Watch
from embedded_apiserver.shell.sending import progress

LONGEST_MESSAGE = 4 * 1024 * 1024
"""The most bytes of one message; a client that sends a longer one is disconnected."""

_CLOSE_TIMEOUT = 1.0  # seconds that a client has to answer the end of the connection


def is_upgrade(request: BaseRequest) -> bool:
    """Return whether a client requests a WebSocket."""
    return request.headers.get("Upgrade", "").lower() == "websocket"


class Upgrading:
    """Passes messages between one WebSocket and the handler's connection. Threads: the event loop's, except for
    `on_ready`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._changed = asyncio.Event()
        self._has_room = asyncio.Event()

    def on_ready(self) -> None:
        """Schedule a check for messages of the handler, and for room in its buffer. Threads: any."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and all connections have ended
            self._loop.call_soon_threadsafe(self._wake)

    async def serve(self, request: BaseRequest, answer: Watch) -> StreamResponse:
        """Answer a request with a WebSocket, and pass on messages until either side ends the connection."""
        assert isinstance(answer, Upgraded), "a request to upgrade opens no watch"
        socket = WebSocketResponse(
            protocols=tuple(filter(None, [answer.protocol])),
            compress=False,
            max_msg_size=LONGEST_MESSAGE,
            timeout=_CLOSE_TIMEOUT,
        )
        try:
            await socket.prepare(request)
            reader = self._loop.create_task(self._read(socket, answer))
            try:
                with contextlib.suppress(ConnectionError, TimeoutError):
                    await self._write(socket, answer)
            finally:
                answer.close()
                with contextlib.suppress(ConnectionError):
                    await socket.close()
                reader.cancel()
        finally:
            answer.close()
        return socket

    async def _read(self, socket: WebSocketResponse, answer: Upgraded) -> None:
        """Hand on the client's messages. It reads no further while there is no room for one."""
        async for message in socket:
            if message.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
                continue
            data = message.data if message.type == WSMsgType.BINARY else message.data.encode()
            self._has_room.clear()
            while not answer.send(data):
                await self._has_room.wait()
                self._has_room.clear()
        answer.close()
        self._wake()

    async def _write(self, socket: WebSocketResponse, answer: Upgraded) -> None:
        """Send the messages of the core until it has no more, or the client is gone."""
        while True:
            self._changed.clear()
            messages, is_over = answer.take()
            for message in messages:
                async with progress():
                    await socket.send_bytes(message)
            if is_over:
                return
            if not messages:
                await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._has_room.set()
