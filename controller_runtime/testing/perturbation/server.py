# SPDX-License-Identifier: Apache-2.0
"""The server as the manager sees it: it counts the manager's writes, and carries out the plan of the run."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.http import NO_ANSWER
from controller_runtime.testing.perturbation.record import Sent
from controller_runtime.testing.perturbation.world import LEFT_OUT
from embedded_apiserver import APIServer
from embedded_apiserver.perturbation import Answer, Gate, PerturbedServer, Write, unheard


class ManagersServer(PerturbedServer):
    """The handler between the manager and its server.

    Args:
        server: The server.
        acting: Called with the number of a write, with a function that carries it out and returns its answer.
        crash: Ends the manager.

    Attributes:
        sent: The writes so far, and the calls to outsides among them.
        gate: The gate of watches; None lets all pass.
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

    @property
    def gate(self) -> Gate | None:
        """The gate of watches; None lets all pass."""
        return self.filter if isinstance(self.filter, Gate) else None

    @gate.setter
    def gate(self, gate: Gate) -> None:
        self.filter = gate

    def count(self, method: str, target: str) -> int:
        """Note a write, or a call to an outside service, and return its number."""
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
