# SPDX-License-Identifier: Apache-2.0
"""A command that is carried out to its end, with all of its output."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import attrs

from apimachinery.errors import ConnectionLost, ControllerRuntimeError
from apimachinery.host import Host
from controller_runtime.client.pods.session import Session

MOST_BYTES = 1024 * 1024
"""The most bytes of output, unless the caller says otherwise."""
_SHOWN = 500  # bytes of output in a message


class CommandFailed(ControllerRuntimeError):
    """Raised if a command ended with an exit status other than 0.

    Attributes:
        result: The exit status and the output.
    """

    def __init__(self, command: Sequence[str], result: CommandResult) -> None:
        shown = (result.stderr or result.stdout)[-_SHOWN:].decode(errors="replace").strip()
        super().__init__(f"{' '.join(command)}: exit status {result.exit_code}{': ' if shown else ''}{shown}")
        self.result = result


class OutputTooLong(ControllerRuntimeError):
    """Raised if a command wrote more than the limit. The connection was closed; the command may still run."""


@attrs.frozen
class CommandResult:
    """The result of a command that has ended.

    Attributes:
        command: The program and its arguments.
        exit_code: The exit status.
        stdout: The bytes of its standard output.
        stderr: The bytes of its standard error.
    """

    command: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes

    def check(self) -> CommandResult:
        """Return this result if the exit status is 0.

        Raises:
            CommandFailed: The exit status is not 0.
        """
        if self.exit_code:
            raise CommandFailed(self.command, self)
        return self


def carry_out(
    host: Host, session: Session, command: Sequence[str], stdin: bytes | None, most_bytes: int
) -> CommandResult:
    """Write the input of a command, read its output to the end, and return its result; see `Client.exec`.

    The input is written on a separate thread, because a command may write before it has read all its input.
    """
    parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    size = 0
    with session:
        feeding = None if stdin is None else host.spawn("stdin of a command", partial(_feed, session, stdin))
        try:
            for output in session:
                parts[output.stream].append(output.data)
                size += len(output.data)
                if size > most_bytes:
                    text = f"{' '.join(command)}: more than {most_bytes} bytes of output; the command may still run"
                    raise OutputTooLong(text)
        finally:
            session.close()
            if feeding is not None:
                feeding.join_until(None)  # closing has ended its wait
        assert session.exit_code is not None, "the output ended with it"
        return CommandResult(tuple(command), session.exit_code, b"".join(parts["stdout"]), b"".join(parts["stderr"]))


def _feed(session: Session, stdin: bytes) -> None:
    """Write the input. A command may end before it has read all, so a connection that has ended is no error here."""
    try:
        session.write(stdin)
        session.close_stdin()
    except ConnectionLost:
        return
    except ControllerRuntimeError:  # a limit of the client's requests is over, which the reader finds, too
        session.close()
