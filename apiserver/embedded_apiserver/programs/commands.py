# SPDX-License-Identifier: Apache-2.0
"""The connection of one exec or attach: `v5.channel.k8s.io`, or an older subprotocol, in which input cannot end.

The first byte of each message names its channel: input, output, errors, the outcome, and sizes of the terminal. In v5,
a message on channel 255 ends the channel that it names. Before v4 the outcome is a text, and is only sent for a
failure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from apimachinery.host import Host
from embedded_apiserver.programs.link import Link
from embedded_apiserver.programs.process import Inlet, Life, Output
from embedded_apiserver.programs.terminal import typed

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io", "")
"""The subprotocols, the preferred one first. The empty one is for a client that names none."""

_STDIN, _STDOUT, _STDERR, _OUTCOME, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_INTERRUPTED = 130


class Streams(NamedTuple):
    """The streams that a client requests for a command."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


class CommandLink(Link):
    """Connects the client of an exec or attach with a process; the caller starts the process.

    Args:
        host: Creates the locks.
        protocol: One of `PROTOCOLS`.
        streams: The streams that the client requests.
        on_ready: Called when there are messages for the client, or room for its messages; see `Link`.

    Attributes:
        life: Tells whether the process must end.
        inlet: The standard input of the process.
        resized: A function that is called with the columns and rows of the client's terminal.
    """

    def __init__(self, host: Host, protocol: str, streams: Streams, on_ready: Callable[[], None]) -> None:
        super().__init__(host, protocol, on_ready)
        self.life = Life(self)
        self.inlet = Inlet(self, self.life)
        self.resized: Callable[[tuple[int, int]], None] = lambda size: None
        self._streams = streams
        self._typed = b""  # the line that is being typed; its reader's own
        if not streams.stdin:
            self.inlet.end()
        # An empty message tells that the connection is there.
        first = _STDOUT if streams.stdout else _STDERR if streams.stderr else _OUTCOME
        self.put(bytes((first,)), is_urgent=lambda: True)

    def output(self, *, is_error: bool) -> Output:
        """Return the standard output or, if `is_error` is True, the standard error output of the process.

        Output that the client did not request is dropped.
        """
        tty = self._streams.tty
        channel = _STDERR if is_error and not tty else _STDOUT
        is_wanted = self._streams.stderr if channel == _STDERR else self._streams.stdout
        head = bytes((channel,))

        def put(data: bytes) -> None:
            if is_wanted:
                self.put(head + data, self.life.is_killed)

        return Output(put, self.life, returns=tty)

    def exited(self, code: int) -> None:
        """Send the exit status, and end the connection."""
        told = outcome(code)
        if self.protocol in PROTOCOLS[:2]:
            self.put(bytes((_OUTCOME,)) + json.dumps(told).encode(), is_urgent=lambda: True)
        elif code:
            self.put(bytes((_OUTCOME,)) + told["message"].encode(), is_urgent=lambda: True)
        self.finish()

    def failed(self, message: str) -> None:
        """Send the error `message` of a command that could not start, and end the connection."""
        told = internal(message)
        self.put(bytes((_OUTCOME,)) + json.dumps(told).encode(), is_urgent=lambda: True)
        self.finish()

    def send(self, message: bytes) -> bool:
        """Pass a message of the client to the process; see `http.Upgraded.send`. Messages for unknown channels are
        ignored.
        """
        data = message[1:]
        match message[:1]:
            case b"\x00":
                return self._feed(data)
            case b"\x04":
                self._resize(data)
            case b"\xff" if data[:1] == b"\x00" and self.protocol == PROTOCOLS[0]:
                self.inlet.end()
        return True

    def _on_close(self) -> None:
        self.inlet.end()

    def _feed(self, data: bytes) -> bool:
        if not self._streams.tty:
            return self.inlet.feed(data)
        keys = typed(self._typed, data)
        if keys.lines and not self.inlet.feed(keys.lines):
            return False
        self._typed = keys.rest
        if keys.echo:
            self.put(bytes((_STDOUT,)) + keys.echo, is_urgent=lambda: True)
        if keys.interrupts:
            self.life.kill(_INTERRUPTED)
        elif keys.ends:
            self.inlet.end()
        return True

    def _resize(self, data: bytes) -> None:
        try:
            size = json.loads(data)
            self.resized((int(size["Width"]), int(size["Height"])))
        except (ValueError, KeyError, TypeError):
            return


def outcome(code: int) -> Mapping[str, Any]:
    """Return the `Status` for an exit status, as sent at the end of a command."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: command terminated with exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def internal(message: str) -> Mapping[str, Any]:
    """Return the `Status` for a command that could not start."""
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {message}",
        "reason": "InternalError",
        "details": {"causes": [{"message": message}]},
        "code": 500,
    }
