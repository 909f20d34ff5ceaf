# SPDX-License-Identifier: Apache-2.0
"""The server as the manager sees it: it counts the manager's writes, and applies the fault of the run."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.http import NO_ANSWER
from controller_runtime.testing.perturbation.record import Sent
from controller_runtime.testing.perturbation.world import LEFT_OUT
from embedded_apiserver import APIServer
from embedded_apiserver.perturbation import Answer, PerturbedServer, Write, unheard


class ManagersServer(PerturbedServer):
    """Stands between the manager and its server.

    Args:
        server: The server.
        acting: Called with the number of a write and a function that carries it out; returns the answer of that
            function.
        crash: Ends the manager.

    Attributes:
        sent: The manager's writes and calls to outside services so far, in order.
        crash_at: The number of the write at which the manager ends, and whether it is carried out; None for none.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(
        self, server: APIServer, acting: Callable[[int, Callable[[], Answer]], Answer], crash: Callable[[], None]
    ) -> None:
        super().__init__(server, self._answer)
        self.sent: list[Sent] = []
        self.crash_at: tuple[int, bool] | None = None
        self._acting = acting
        self._crash = crash

    def count(self, method: str, target: str) -> int:
        """Record a write or a call to an outside service, and return its number, from 1."""
        self.sent.append(Sent(len(self.sent) + 1, method, target))
        return len(self.sent)

    def _answer(self, write: Write, carry_out: Callable[[], Answer]) -> Answer:
        if write.plural in LEFT_OUT:
            return carry_out()
        number = self.count(write.method, write.target)
        at, landed = self.crash_at or (0, False)
        if number != at:
            return self._acting(number, carry_out)
        if landed:
            unheard(self._acting(number, carry_out))
        self._crash()
        return NO_ANSWER  # its reader has ended
