# SPDX-License-Identifier: Apache-2.0
"""Which audit events of Python are calls to the world outside, and whom they call. Pure functions.

The events are those of https://docs.python.org/3/library/audit_events.html. Code in C that opens connections past
Python's `socket` module, such as libpq or gRPC, raises none.
"""

from __future__ import annotations

import ipaddress
import os
import shlex
import socket
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

FORK_EXEC = "controller_runtime.fork_exec"
"""The event that `guard` raises for processes of `multiprocessing`, for which Python raises none."""

SOCKETS_OF_THEIR_OWN: Mapping[str, str] = {
    "grpc": "grpc",
    "psycopg2": "psycopg2",
    "psycopg": "psycopg",
    "MySQLdb": "mysqlclient",
    "pycurl": "pycurl",
    "confluent_kafka": "confluent_kafka",
    "zmq": "zmq",
    "oracledb": "oracledb",
    "pyodbc": "pyodbc",
}
"""Modules whose C code makes connections without an audit event, and their names for people."""


class OutwardCall(NamedTuple):
    """A connection to another process, or the start of a program.

    Attributes:
        target: The host, the path of a Unix socket, or the program.
        port: The port; 0 if there is none.
        runs: Whether it is the start of a program.
    """

    target: str
    port: int = 0
    runs: bool = False

    def __str__(self) -> str:
        where = f"[{self.target}]" if ":" in self.target and self.port else self.target
        return f"{'runs' if self.runs else 'calls'} {where}{f':{self.port}' if self.port else ''}"


def call_of(event: str, args: tuple[Any, ...]) -> OutwardCall | None:
    """Return the connection or start of a program that an audit event of Python reports; None for other events."""
    reader = _READERS.get(event)
    return None if reader is None else reader(*args)


def is_allowed(call: OutwardCall, allowed: Collection[str]) -> bool:
    """Return whether the target of a call is in `allowed`; a program is found by its path or its name."""
    return call.target in allowed or (call.runs and os.path.basename(call.target) in allowed)


def unseen_modules() -> list[str]:
    """Return the loaded modules whose connections cause no audit events."""
    return [shown for name, shown in SOCKETS_OF_THEIR_OWN.items() if name in sys.modules]


def _connection(_: object, address: object = None, *rest: object) -> OutwardCall | None:
    match address:
        case (str(host), int(port), *_):
            return OutwardCall(host.partition("%")[0], port)
        case str(path):
            return OutwardCall(path.replace("\0", "@"))
        case bytes(raw):
            return OutwardCall(os.fsdecode(raw).replace("\0", "@"))
        case None:  # a datagram on a socket that is connected, which was refused before
            return None
    return OutwardCall(str(address))


def _look_up(host: object, port: object = None, *_: object) -> OutwardCall | None:
    name = os.fsdecode(host) if isinstance(host, bytes) else host
    if not isinstance(name, str) or not name or _is_number(name) or name == socket.gethostname():
        return None  # an address of this machine, to listen at; or one whose connection is refused by itself
    return OutwardCall(name.lower(), port if isinstance(port, int) else 0)


def _program(path: object, *_: object) -> OutwardCall:
    return OutwardCall(_text(path), runs=True)


def _process(executable: object, arguments: object, *_: object) -> OutwardCall:
    first = arguments[0] if isinstance(arguments, list | tuple) and arguments else arguments
    return OutwardCall(_text(executable or first), runs=True)


def _command(command: object) -> OutwardCall:
    text = _text(command)
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return OutwardCall(words[0] if words else text, runs=True)


def _text(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else str(value)


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


_READERS: Mapping[str, Callable[..., OutwardCall | None]] = {
    "socket.connect": _connection,
    "socket.sendto": _connection,
    "socket.sendmsg": _connection,
    "socket.getaddrinfo": _look_up,
    "socket.gethostbyname": _look_up,
    "subprocess.Popen": _process,
    "os.system": _command,
    "os.exec": _program,
    "os.posix_spawn": _program,
    "os.spawn": lambda mode, path, *_: _program(path),
    "os.startfile": _program,
    "os.startfile/2": _program,
    "pty.spawn": lambda argv, *_: _process(None, argv),
    FORK_EXEC: _process,
}
