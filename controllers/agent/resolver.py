# SPDX-License-Identifier: Apache-2.0
"""Looks the node's name up, as whoever wants to reach the node would, and waits for nobody who is slow."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

from controller_runtime.core.host import Host

PATIENCE = 1.0
"""Seconds that a look at the machine waits for the resolver."""


def _system(name: str) -> list[str]:
    return [str(address[0]) for *_, address in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]


class Resolver:
    """Knows the addresses of one name.

    The system's resolver cannot be told how long it may take. So it is asked on a thread of its
    own, one question at a time, and the process may end without its answer.

    Args:
        host: What it runs on.
        name: The name.
        ask: The resolver; it raises OSError or ValueError for a name it does not know.

    Threads: one at a time.
    """

    def __init__(self, host: Host, name: str, ask: Callable[[str], Sequence[str]] = _system) -> None:
        self._host = host
        self._name = name
        self._ask = ask
        # Guards the two below.
        self._condition = host.condition("resolver")
        self._is_asking = False
        self._found: Sequence[str] = ()

    def addresses(self) -> Sequence[str]:
        """What the name resolves to; where there is no answer yet, what it did last."""
        with self._condition:
            if self._is_asking:  # since the last look; nobody waits for that one twice
                return self._found
            self._is_asking = True
        deadline = self._host.monotonic() + PATIENCE
        try:
            self._host.spawn("look-up", self._look_up, daemon=True)
        except RuntimeError:  # the system has no threads left, of which the status is to tell
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
