# SPDX-License-Identifier: Apache-2.0
"""Looks up the node's name, and does not wait for long if the resolver is slow."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

from apimachinery.host import Host

TIMEOUT = 1.0
"""Seconds for which a measurement of the machine waits for the resolver."""


def _system(name: str) -> list[str]:
    return [str(address[0]) for *_, address in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]


class Resolver:
    """Looks up the addresses of one host name, with a timeout.

    The system's resolver has no timeout. So each look-up runs on a daemon thread, one at a time, which does not prevent
    the process from ending.

    Args:
        host: The source of the thread and the time.
        name: The host name.
        ask: The resolver; it raises OSError or ValueError for an unknown name.

    Threads: one at a time.
    """

    def __init__(self, host: Host, name: str, ask: Callable[[str], Sequence[str]] = _system) -> None:
        self._host = host
        self._name = name
        self._ask = ask
        # Guards the two fields below.
        self._condition = host.condition("resolver")
        self._is_asking = False
        self._found: Sequence[str] = ()

    def addresses(self) -> Sequence[str]:
        """Return the addresses to which the name resolves.

        If there is no answer within `TIMEOUT` seconds, the last answer is returned. An unknown name has no addresses.
        """
        with self._condition:
            if self._is_asking:  # a look-up that timed out before still runs: do not wait for it again
                return self._found
            self._is_asking = True
        deadline = self._host.monotonic() + TIMEOUT
        try:
            self._host.spawn("look-up", self._look_up, daemon=True)
        except (
            RuntimeError
        ):  # no more threads can be started; the status must be posted all the same, since it reports that shortage
            self._answer(self._found)
        with self._condition:
            while self._is_asking and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
            return self._found

    def _look_up(self) -> None:
        try:
            self._answer(self._ask(self._name))
        except (OSError, ValueError):
            self._answer(())

    def _answer(self, found: Sequence[str]) -> None:
        with self._condition:
            self._found, self._is_asking = found, False
            self._condition.notify_all()
