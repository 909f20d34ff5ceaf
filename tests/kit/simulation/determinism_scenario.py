# SPDX-License-Identifier: Apache-2.0
"""A run that uses everything that a schedule can depend on; as a program it prints its digests.

It uses no other part of the project, so that only a change of the simulation can change the digests.
"""

from __future__ import annotations

import sys

from controller_runtime.testing.simulation import SimulatedHost, Simulation


class Mailbox:
    """Letters from any thread, taken by the thread that wakes first."""

    def __init__(self, host: SimulatedHost) -> None:
        self.host = host
        self.condition = host.condition("mailbox")
        self.letters: list[str] = []

    def put(self, letter: str) -> None:
        with self.condition:
            self.letters.append(letter)
            self.condition.notify()

    def take(self, patience: float) -> str | None:
        deadline = self.host.monotonic() + patience
        with self.condition:
            while not self.letters and self.host.monotonic() < deadline:
                self.condition.wait_until(deadline)
            return self.letters.pop() if self.letters else None


def run(seed: int) -> Simulation:
    """Let three hosts exchange letters; one crashes and is restarted, one is paused, one's wall clock is moved."""
    with Simulation(seed, keep_trace=True) as sim:
        mailbox = Mailbox(sim.host("post"))

        def live(host: SimulatedHost) -> None:
            for _ in range(5):
                host.leaving("PUT")
                mailbox.put(f"{host.uuid()} {host.now()} {host.random.random()}")
                letter = mailbox.take(host.random.choice((0.1, 1.0, 2.5)))
                sim.note(f"{host.name} got {letter}")

        hosts = [sim.host(f"r{i}", drift=100 * i) for i in range(3)]
        for host in hosts:
            for i in range(2):
                host.spawn(f"worker-{i}", lambda host=host: live(host))
        sim.advance(1.0)
        sim.crash(hosts[0])
        sim.pause(hosts[1], 3.0)
        sim.jump(hosts[2], -60.0)
        successor = sim.restart(hosts[0])
        successor.spawn("worker", lambda: live(successor))
        sim.advance(20.0)
    return sim


if __name__ == "__main__":
    print(*(run(int(seed)).digest for seed in sys.argv[1:]))  # noqa: T201 - its purpose
