# SPDX-License-Identifier: Apache-2.0
"""Look-ups of host names that nobody waits for beyond his deadline.

The system's resolver cannot be told how long it may take, so it is asked on a thread of
its own, once for all who want to know; the thread ends when the resolver gives up, or the process does.
"""

from __future__ import annotations

import socket
from typing import Any

from controller_runtime.client.http_wire import Wire
from controller_runtime.core.host import Host, Thread

Address = tuple[int, int, int, str, tuple[Any, ...]]
"""What `getaddrinfo` gives: family, kind, protocol, canonical name, address."""


class Lookup:
    """Finds addresses. Threads: any."""

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the look-ups that nobody has an answer to yet.
        self._condition = host.condition("look-up")
        self._pending: dict[tuple[str, int], _Question] = {}

    def addresses(self, address: tuple[str, int], wire: Wire) -> list[Address]:
        """The addresses of a host and port, for a connection to be made by its deadline.

        Raises:
            OSError: There are none, or none by then, or the connection was shut down.
        """
        try:
            return _resolved(address, socket.AI_NUMERICHOST)
        except socket.gaierror:
            return self._answer(address, wire)

    def wake(self) -> None:
        """Have those who wait see whether their connections were shut down."""
        with self._condition:
            self._condition.notify_all()

    def _answer(self, address: tuple[str, int], wire: Wire) -> list[Address]:
        with self._condition:
            question = self._pending.get(address)
            is_ours = question is None
            question = question or self._pending.setdefault(address, _Question())
        thread = self._spawn(address, question) if is_ours else None
        with self._condition:
            while not question.is_answered and not wire.is_shut and self._host.monotonic() < wire.deadline:
                self._condition.wait_until(wire.deadline)
        if thread is not None and question.is_answered:
            thread.join_until(wire.deadline)
        if question.failure is not None:
            raise OSError(f"{address[0]} is not known: {question.failure.strerror or question.failure}")
        if not question.is_answered:
            raise TimeoutError(f"the look-up of {address[0]} timed out")
        return question.found

    def _spawn(self, address: tuple[str, int], question: _Question) -> Thread | None:
        try:
            return self._host.spawn("look-up", lambda: self._ask(address, question), daemon=True)
        except RuntimeError:  # the system has no threads left; this one has to do
            self._ask(address, question)
            return None

    def _ask(self, address: tuple[str, int], question: _Question) -> None:
        found: list[Address] = []
        failure: OSError | None = None
        try:
            found = _resolved(address)
        except UnicodeError:
            failure = OSError("no name of a host")
        except OSError as error:
            failure = error
        with self._condition:
            question.found, question.failure, question.is_answered = found, failure, True
            del self._pending[address]
            self._condition.notify_all()


class _Question:
    """One look-up, and what came of it."""

    def __init__(self) -> None:
        self.is_answered = False
        self.found: list[Address] = []
        self.failure: OSError | None = None


def _resolved(address: tuple[str, int], flags: int = 0) -> list[Address]:
    return [*socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=flags)]
