# SPDX-License-Identifier: Apache-2.0
"""A leading process is killed, or frozen and woken, and the record of a server over TLS shows who writes when."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import attrs
import pytest
from kit.contract.real_server import emptied
from kit.processes import replica
from kit.processes.replica import LOST, WRITTEN

from apimachinery.stop import Stop
from controller_runtime import Client, ObjectKey, SystemHost
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.resources import LEASES, NODES
from controller_runtime.testing import a_node
from controller_runtime.testing.server_process import APIServerProcess

pytestmark = pytest.mark.ends

LEASE, DEADLINE, RETRY = 8.0, 6.0, 0.5
"""Seconds: a busy machine that holds a renewal up for less than five of them changes no outcome."""
SOON = 120.0
HOST = SystemHost()


def wait_for(check: Callable[[], object]) -> None:
    """Look at the record until it says so."""
    deadline, never = HOST.monotonic() + SOON, Stop(HOST, "never")
    while not check():
        assert HOST.monotonic() < deadline, "not in time"
        never.wait(0.05)


class Asked(NamedTuple):
    """A request of one replica, as the server recorded it."""

    who: str
    verb: str
    path: str
    code: int
    at: float

    @property
    def renews(self) -> bool:
        return self.verb == "update" and self.code == 200 and "/leases/" in self.path

    @property
    def writes(self) -> bool:
        return self.verb == "patch" and self.path.startswith("/api/v1/nodes/")


@attrs.frozen
class Stage:
    """A server, its record of requests, and replicas on it."""

    client: Client
    kubeconfig: Path
    record: Path
    begins_at: int
    replicas: dict[str, subprocess.Popen[bytes]] = attrs.field(factory=dict)

    def start(self, name: str) -> None:
        command = [sys.executable, replica.__file__, str(self.kubeconfig), name]
        self.replicas[name] = subprocess.Popen([*command, *map(str, (LEASE, DEADLINE, RETRY))])

    def send(self, name: str, number: signal.Signals) -> float:
        """Signal a replica; the seconds of the wall clock, which is the record's too."""
        at = datetime.now().timestamp()
        os.kill(self.replicas[name].pid, number)
        return at

    def asked_by(self, name: str) -> list[Asked]:
        """All that a replica has asked so far."""
        with self.record.open("rb") as file:
            file.seek(self.begins_at)
            whole, _, _ = file.read().rpartition(b"\n")
        lines = (json.loads(line) for line in whole.splitlines() if f"({name})".encode() in line)
        return [asked for line in lines if line["stage"] == "ResponseComplete" and (asked := _asked(line)).who == name]

    def writes_of(self, name: str) -> list[float]:
        return [asked.at for asked in self.asked_by(name) if asked.writes]

    def deadline_of(self, name: str) -> float:
        """Returns the latest end of its leadership, which counts from the sending of the last renewal, or before."""
        return max(asked.at for asked in self.asked_by(name) if asked.renews or asked.verb == "create") + DEADLINE

    def let_lead(self, leader: str, other: str) -> None:
        """Start two replicas, of which one leads and the other knows."""
        self.start(leader)
        wait_for(lambda: len(self.writes_of(leader)) > 5)
        self.start(other)
        wait_for(lambda: any(asked.verb == "get" for asked in self.asked_by(other)))


def _asked(line: dict[str, object]) -> Asked:
    agent, status = str(line["userAgent"]), line["responseStatus"]
    assert isinstance(status, dict)
    at = datetime.fromisoformat(str(line["requestReceivedTimestamp"])).timestamp()
    return Asked(agent.rpartition("(")[2].rstrip(")"), str(line["verb"]), str(line["requestURI"]), status["code"], at)


@contextlib.contextmanager
def recorded(folder: Path, chosen: Path | None, log: Path | None) -> Iterator[tuple[Path, Path]]:
    """A server: its kubeconfig, and its record of requests."""
    if chosen is None:
        with APIServerProcess(HOST, "--audit-log-path", str(folder / "audit.log")) as server:
            yield server.kubeconfig, folder / "audit.log"
    elif log is None:
        pytest.skip("not on a server of --kubeconfig without its --audit-log: the record of its requests is read")
    else:
        yield emptied(chosen), log


@pytest.fixture
def stage(chosen: Path | None, pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[Stage]:
    with recorded(tmp_path, chosen, pytestconfig.getoption("--audit-log")) as (kubeconfig, record):
        transport = HTTPTransport(HOST, from_kubeconfig(kubeconfig))
        stage = Stage(Client(HOST, transport), kubeconfig, record, record.stat().st_size)
        stage.client.create(NODES, a_node(WRITTEN.name))
        yield stage
        for process in stage.replicas.values():
            process.kill()
            process.wait()
        transport.close()


@pytest.mark.elsewhere("kr8s-org/kr8s#278")
def test_when_a_leader_is_killed_another_leads_as_soon_as_the_lease_has_run_out(stage: Stage) -> None:
    """The next leader does not lead earlier, and has a token of its own; only the lease shows it the death."""
    stage.let_lead("one", "two")

    stage.send("one", signal.SIGKILL)
    wait_for(lambda: stage.writes_of("two"))

    last_renewal = stage.deadline_of("one") - DEADLINE
    assert stage.writes_of("two")[0] - last_renewal > LEASE - RETRY
    assert stage.writes_of("one")[-1] < stage.writes_of("two")[0]
    lease = stage.client.get(LEASES, ObjectKey("writers", "default"), dict)
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("two", 1)


def test_a_leader_frozen_for_two_leases_and_woken_writes_nothing_and_ends(stage: Stage) -> None:
    """None of its requests began after its deadline by the server's record, though it was about to make many."""
    stage.let_lead("one", "two")

    frozen_at = stage.send("one", signal.SIGSTOP)
    wait_for(lambda: stage.writes_of("two")[-1:] > [frozen_at + 2 * LEASE])
    stage.send("one", signal.SIGCONT)
    status = stage.replicas["one"].wait(SOON)
    woken = len(stage.writes_of("two"))
    wait_for(lambda: len(stage.writes_of("two")) > woken + 5)

    assert status == LOST
    assert max(asked.at for asked in stage.asked_by("one")) < stage.deadline_of("one") < stage.writes_of("two")[0]
    assert stage.client.get(LEASES, ObjectKey("writers", "default"), dict)["spec"]["holderIdentity"] == "two"
