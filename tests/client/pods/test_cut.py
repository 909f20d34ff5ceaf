# SPDX-License-Identifier: Apache-2.0
"""A connection that is cut at each byte of an exchange: never a hang, never a lost exit status taken for success."""

from __future__ import annotations

import math

import pytest
from kit.apiserver.talking import Talking
from kit.client.entered import KEY

from apimachinery.errors import ConnectionLost
from controller_runtime.client.client import Client
from controller_runtime.pods import CommandResult
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.programs import Process, Program

pytest.importorskip("wsproto")

from kit.client.byte_wire import ByteWire

INPUT = b"one line of input\n"


class Bench:
    """A server under virtual time, whose program reads a line, answers, and ends with a status."""

    def __init__(self, sim: Simulation, status: int) -> None:
        self.talking = Talking(sim.host("server"))
        self.ran: list[bytes] = []
        self.status = status
        self.talking.server.programs["c"] = Program(self.run, ports={80: self.echo})

    def echo(self, process: Process) -> None:
        process.stdout.write(process.stdin.readline())

    def run(self, process: Process) -> int:
        line = process.stdin.readline()
        process.stdout.write(line.upper())
        process.wait(1)
        process.stderr.write("careful\n")
        if line == INPUT:
            self.ran.append(line)
        return self.status if line == INPUT else 99

    def connect(self, cut_after: float) -> tuple[bytes, bool, int]:
        """Return what a port echoed of a line, whether the connection was cut, and the bytes that passed."""
        wire = ByteWire(self.talking.host, self.talking.server, cut_after)
        heard = b""
        try:
            with Client(self.talking.host, wire).port_forward(KEY, 80).connect() as connection:
                connection.sendall(INPUT)
                while data := connection.recv(100):
                    heard += data
        except ConnectionLost:
            return heard, True, wire.passed
        return heard, False, wire.passed

    def exec(self, cut_after: float) -> tuple[CommandResult | None, ByteWire]:
        """Carry out the command over a wire that is cut; None if the client was told so."""
        wire = ByteWire(self.talking.host, self.talking.server, cut_after)
        client = Client(self.talking.host, wire)
        try:
            return client.exec(KEY, ["promote"], stdin=INPUT, within=60), wire
        except ConnectionLost:
            return None, wire


@pytest.mark.parametrize("status", [0, 3])
def test_a_cut_at_each_byte_is_an_error_or_the_whole_result(sim: Simulation, status: int) -> None:
    """The messages of a status 3 are about 330 bytes, those of success about 140."""
    bench = Bench(sim, status)
    whole, wire = bench.exec(math.inf)
    assert whole == CommandResult(("promote",), status, INPUT.upper(), b"careful\n")
    assert wire.passed > 100

    outcomes = []
    for cut_after in range(wire.passed + 1):
        began = bench.talking.host.monotonic()
        result, _ = bench.exec(cut_after)
        assert result is None or result == whole
        assert bench.talking.host.monotonic() - began < 2, "it does not wait for its time-out"
        outcomes.append(result is not None)

    assert outcomes == sorted(outcomes), "what is told after fewer bytes is told after more"
    assert (outcomes[0], outcomes[-1]) == (False, True)


def test_a_port_that_is_cut_at_each_byte_has_no_end(sim: Simulation) -> None:
    bench = Bench(sim, 0)
    whole, is_cut, passed = bench.connect(math.inf)
    assert (whole, is_cut) == (INPUT, False)

    for cut_after in range(passed):
        heard, is_cut, _ = bench.connect(cut_after)
        assert is_cut
        assert INPUT.startswith(heard)
