# SPDX-License-Identifier: Apache-2.0
"""A command in a container, or a client that is attached to one: its streams, and its exit status."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from apimachinery.errors import UNREADABLE, UsageError, error_from_status
from apimachinery.http import HTTPRequest
from controller_runtime.client.pods.messages import Messages, PodCaller

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
"""The subprotocols: in v5 the input can end alone; servers before Kubernetes 1.30 know v4 only."""

_STDIN, _STDOUT, _STDERR, _OUTCOME, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_NAMES = {_STDOUT: "stdout", _STDERR: "stderr"}
_PIECE = 32 * 1024


class Output(NamedTuple):
    """A piece of the output of a command.

    Attributes:
        stream: `stdout` or `stderr`.
        data: The bytes.
    """

    stream: str
    data: bytes


class Session:
    """The streams of a command; a context manager that closes them. Iterating over it yields the output.

    The command is known to have ended only once `exit_code` is set. `close` ends the connection, not the command.

    Args:
        caller: Sends the request.
        request: The request.
        within: Seconds until the command must have ended.

    Attributes:
        exit_code: The exit status; None until the server has reported it.

    Raises:
        APIError: The server refused the request.
        ConnectionLost: The server gave no answer.

    Threads: one reads, one writes, any closes.
    """

    def __init__(self, caller: PodCaller, request: HTTPRequest, within: float) -> None:
        self.exit_code: int | None = None
        self._messages = Messages(caller, request, PROTOCOLS, within)
        self._now = caller.host.monotonic
        self._pending: list[bytes] = []  # the reader's own

    def read(self, within: float | None = None) -> Output | None:
        """Return the next piece of output; None once the command has ended, or if none comes for `within` seconds.

        Raises:
            ConnectionLost: The connection ended before the exit status came. The command may still run.
            APIError: The command could not be run.
        """
        until = None if within is None else self._now() + within
        while self.exit_code is None:
            while self._pending:
                message = self._pending.pop(0)
                channel, data = message[0] if message else -1, message[1:]
                if channel == _OUTCOME:
                    self.exit_code = exit_code_of(data)
                    self._messages.close()
                    return None
                if channel in _NAMES and data:
                    return Output(_NAMES[channel], data)
            messages = self._messages.receive(until)
            if messages is None:
                raise self._messages.lost("the connection ended without an exit status; the command may still run")
            if not messages:
                return None
            self._pending += messages
        return None

    def write(self, data: bytes | str) -> None:
        """Write to the standard input of the command. The call waits while the command does not read.

        Raises:
            ConnectionLost: The connection has ended.
        """
        raw = data.encode() if isinstance(data, str) else data
        for start in range(0, len(raw), _PIECE):
            self._messages.send(bytes((_STDIN,)) + raw[start : start + _PIECE])

    def close_stdin(self) -> None:
        """Close the standard input of the command.

        Raises:
            UsageError: The server is older than Kubernetes 1.30, where only closing the connection ends the input.
        """
        if self._messages.protocol != PROTOCOLS[0]:
            raise UsageError("this server cannot end the input of a command: give the command the size of its input")
        self._messages.send(bytes((_CLOSE, _STDIN)))

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal, in characters."""
        self._messages.send(bytes((_RESIZE,)) + json.dumps({"Width": columns, "Height": rows}).encode())

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._messages.close()

    def __iter__(self) -> Iterator[Output]:
        while (output := self.read()) is not None:
            yield output

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def exit_code_of(outcome: bytes) -> int:
    """Return the exit status that a message of the error channel (channel 3) reports.

    Raises:
        APIError: The command could not be run, or the message is malformed.
    """
    try:
        status: Any = msgspec.json.decode(outcome)
    except UNREADABLE:
        status = None
    if not isinstance(status, Mapping):
        raise error_from_status(500, {"message": f"the outcome of the command is not a Status: {outcome[:200]!r}"})
    if status.get("status") == "Success":
        return 0
    if status.get("reason") == "NonZeroExitCode":
        for cause in (status.get("details") or {}).get("causes") or ():
            text = str(cause.get("message"))
            if cause.get("reason") == "ExitCode" and text.isascii() and text.removeprefix("-").isdecimal():
                return int(text)
    raise error_from_status(int(status.get("code") or 500), status)
