# SPDX-License-Identifier: Apache-2.0
"""Attacks on the webhooks of a program by peers without credentials, as any pod of a cluster could make them."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from attacks import check
from target import Target, serving

PROGRAM = Path(__file__).parent / "programs" / "hooked.py"
HELD, REVIEWS = 300, 200
CONVERSION = (
    b'{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", '
    b'"request": {"uid": "x", "desiredAPIVersion": "example.com/v1", "objects": []}}'
)
PAUSE = 1.0
"""Seconds after which ended connections are opened again."""
LIMIT = 256
"""MiB of address space: the memory limit of a generated deployment."""
MIB = 1024 * 1024


class Hooked(NamedTuple):
    """A program whose webhooks see every config map of the namespace `default`."""

    target: Target
    port: int
    process: subprocess.Popen[bytes]
    log: Path

    def connect(self) -> socket.socket:
        """Open a connection to the webhooks, without TLS."""
        return socket.create_connection(("127.0.0.1", self.port), 30.0)

    def post(self, body: bytes) -> int:
        """Send a body to `/convert` over TLS, without a client certificate; return the status."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        head = b"POST /convert HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        with context.wrap_socket(self.connect()) as connection:
            with contextlib.suppress(OSError):  # a body may be refused before its end
                connection.sendall(head % len(body) + body)
            answer = connection.recv(64)
        return int(answer.split()[1])

    def peak(self) -> int:
        """Return the most bytes of memory that the program has had."""
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found is not None
        return int(found[1]) * 1024

    def threads(self) -> int:
        """Return how many threads the program has."""
        return len([*Path(f"/proc/{self.process.pid}/task").iterdir()])


@contextlib.contextmanager
def hooked(place: Path, *limit: str) -> Iterator[Hooked]:
    """Run a server and the program during the block."""
    log = place / "log"
    with serving() as (target, _), log.open("wb") as errors:
        command = [sys.executable, str(PROGRAM), str(target.kubeconfig), *limit]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
            try:
                assert process.stdout is not None
                select.select([process.stdout], [], [], 120.0)
                port = process.stdout.readline()
                check(bool(port), f"the program did not start: {log.read_text()[-500:]}")
                yield Hooked(target, int(port), process, log)
            finally:
                process.terminate()


def silent_connections(place: Path) -> str:
    """200 writes that a webhook sees, and 200 reviews over new connections, beside 300 connections that say nothing."""
    return _beside(place, b"")


def begun_handshakes(place: Path) -> str:
    """200 writes that a webhook sees, and 200 reviews over new connections, beside 300 handshakes that have begun."""
    return _beside(place, b"\x16")


def _beside(place: Path, first: bytes) -> str:
    with hooked(place) as program, contextlib.ExitStack() as stack:
        before, enough = program.log.stat().st_size, Event()
        assert program.target.create("first") == HTTPStatus.CREATED
        attacker = Thread(target=_keep_open, args=(program, first, enough))
        attacker.start()
        stack.callback(attacker.join)
        stack.callback(enough.set)
        enough.wait(2.0)
        refused, slowest = 0, 0.0
        for number in range(REVIEWS):
            for ask, wanted in (
                (lambda: program.post(CONVERSION), HTTPStatus.OK),  # over a connection of its own
                (lambda: program.target.create(f"c{number}"), HTTPStatus.CREATED),  # noqa: B023  called at once
            ):
                began = time.monotonic()
                refused += _status_of(ask) != wanted
                slowest = max(slowest, time.monotonic() - began)
        threads, ended = program.threads(), program.process.poll()
        lines = program.log.read_bytes()[before:].count(b"\n")
    seen = f"{refused} of {2 * REVIEWS} refused, the slowest {slowest:.1f} s, {lines} log lines, {threads} threads"
    check(refused == 0 and slowest < 10.0 and ended is None and lines < 60 and threads < 40, seen)
    return seen


def _status_of(ask: Callable[[], int]) -> int:
    try:
        return ask()
    except (OSError, IndexError):  # the connection was ended before there was an answer
        return 0


def _keep_open(program: Hooked, first: bytes, enough: Event) -> None:
    """Keep connections open that send `first` alone; those that were ended are opened again after `PAUSE`."""
    held: list[socket.socket] = []
    while not enough.is_set():
        poll = select.poll()
        for each in held:
            poll.register(each, select.POLLIN)
        ended = {number for number, _ in poll.poll(0)}
        for each in held:
            if each.fileno() in ended:
                each.close()
        held = [each for each in held if each.fileno() >= 0]
        with contextlib.suppress(OSError):
            while len(held) < HELD:
                held.append(program.connect())
                held[-1].sendall(first)
        enough.wait(PAUSE)
    for each in held:
        each.close()


BODIES = {
    "12 MiB of empty objects": b"[" + b"{}," * (4 * MIB) + b"{}]",
    "12 MiB of opened lists": b"[" * (12 * MIB),
    "120 MiB of spaces": b" " * (120 * MIB),
}


def large_bodies(place: Path) -> str:
    """Bodies of 12 and 120 MiB without a client certificate, to a program with the memory limit of its deployment."""
    with hooked(place, str(LIMIT)) as program:
        statuses = {name: program.post(body) for name, body in BODIES.items()}
        written = program.target.create("after")
        peak, ended = program.peak() // MIB, program.process.poll()
    answers = ", ".join(f"{name}: {status}" for name, status in statuses.items())
    seen = f"{answers}; a write after them: {written}; {peak} MiB"
    check({*statuses.values()} == {413} and written == HTTPStatus.CREATED and ended is None and peak < LIMIT, seen)
    return seen


ATTACKS = (silent_connections, begun_handshakes, large_bodies)
