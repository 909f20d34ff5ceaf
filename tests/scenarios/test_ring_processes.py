# SPDX-License-Identifier: Apache-2.0
"""Three processes share nodes over TLS: one is killed, one frozen and woken, all restarted; the audit log judges.

`python -m pytest -m long -s tests/scenarios/test_ring_processes.py` prints the gaps.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import attrs
import pytest
from kit.processes import ring_replica

from apimachinery.stop import Stop
from controller_runtime import Client, SystemHost
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.resources import LEASES, NODES
from controller_runtime.ring.records import CLAIM, Claim, annotations_of
from controller_runtime.ring.slots import ALL
from controller_runtime.testing import a_node
from controller_runtime.testing.server_process import APIServerProcess

LEASE, DEADLINE, RETRY = 4.0, 3.0, 0.5
OBJECTS = 30
SOON = 60.0
HOST = SystemHost()

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


class Tenure(NamedTuple):
    """A time in which one replica alone wrote an object."""

    who: str
    first: float
    last: float


@attrs.frozen
class Stage:
    """A server, its record of requests, and replicas on it."""

    client: Client
    kubeconfig: Path
    record: Path
    replicas: dict[str, subprocess.Popen[bytes]] = attrs.field(factory=dict)

    def start(self, name: str) -> None:
        command = [sys.executable, ring_replica.__file__, str(self.kubeconfig), name]
        self.replicas[name] = subprocess.Popen([*command, *map(str, (LEASE, DEADLINE, RETRY))])

    def send(self, name: str, number: signal.Signals) -> float:
        """Signal a replica; the seconds of the wall clock, which is the record's too."""
        at = datetime.now().timestamp()
        os.kill(self.replicas[name].pid, number)
        return at

    def stop(self, name: str) -> None:
        self.send(name, signal.SIGTERM)
        assert self.replicas.pop(name).wait(SOON) == 0

    def claims(self) -> dict[str, int]:
        """The slots that each replica claims, ready or not; the lease of an earlier run has none, or counts no more."""
        leases = sorted(self.client.list(LEASES, "default", view=dict), key=lambda each: each["spec"]["renewTime"])
        texts = {lease["metadata"]["name"].rpartition("-")[0]: annotations_of(lease).get(CLAIM) for lease in leases}
        return {name: Claim.from_text(text).slots for name, text in texts.items() if text}

    def settle(self, *names: str) -> None:
        """Wait until these replicas own all slots, in equal shares."""

        def shared() -> bool:
            slots = [self.claims().get(name, 0) for name in names]
            loads = [each.bit_count() for each in slots]
            return sum(loads) == ALL.bit_count() and max(loads) - min(loads) <= 1

        wait_for(shared)
        begun = datetime.now().timestamp()
        wait_for(lambda: {each[-1].who for each in self.tenures(begun).values()} == {*names})

    def tenures(self, since: float) -> dict[str, list[Tenure]]:
        """Return who wrote each object from when to when, by the server's record."""
        writes: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for line in self.record.read_bytes().splitlines():
            found = json.loads(line) if b'"patch"' in line and line.endswith(b"}") else {}
            if found.get("stage") == "ResponseComplete" and found["requestURI"].startswith("/api/v1/nodes/"):
                at = datetime.fromisoformat(found["requestReceivedTimestamp"]).timestamp()
                who = found["userAgent"].rpartition("(")[2].rstrip(")")
                if at >= since and found["responseStatus"]["code"] == 200:
                    writes[found["requestURI"].rpartition("/")[2].partition("?")[0]].append((at, who))
        return {name: [*_runs(sorted(found))] for name, found in writes.items()}


def _runs(writes: list[tuple[float, str]]) -> Iterator[Tenure]:
    for who, group in itertools.groupby(writes, key=lambda each: each[1]):
        times = [at for at, _ in group]
        yield Tenure(who, times[0], times[-1])


def gaps(tenures: dict[str, list[Tenure]]) -> list[float]:
    """The seconds between the last write of an owner and the first of the next, sorted."""
    pairs = [pair for each in tenures.values() for pair in itertools.pairwise(each)]
    return sorted(later.first - earlier.last for earlier, later in pairs)


def wait_for(check: Callable[[], object]) -> None:
    """Look until it says so."""
    deadline, never = HOST.monotonic() + SOON, Stop(HOST, "never")
    while not check():
        assert HOST.monotonic() < deadline, "not in time"
        never.wait(0.2)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    record = tmp_path / "audit.log"
    with APIServerProcess(HOST, "--audit-log-path", str(record)) as server, contextlib.ExitStack() as stack:
        transport = HTTPTransport(HOST, from_kubeconfig(server.kubeconfig))
        stack.callback(transport.close)
        stage = Stage(Client(HOST, transport), server.kubeconfig, record)
        for number in range(OBJECTS):
            stage.client.create(NODES, a_node(f"n{number:02d}"))
        yield stage
        for process in stage.replicas.values():
            process.kill()
            process.wait()


@pytest.mark.scenario("RG-14")
def test_each_node_has_one_writer_at_a_time_whatever_happens_to_the_processes(stage: Stage) -> None:
    for name in ("one", "two", "three"):
        stage.start(name)
    stage.settle("one", "two", "three")

    begun = datetime.now().timestamp()
    killed_at = stage.send("one", signal.SIGKILL)
    stage.settle("two", "three")
    killed = stage.tenures(begun)
    moved = {name: each for name, each in killed.items() if len(each) > 1 or each[0].first > killed_at + RETRY}
    taken = max(each[-1].first for each in moved.values()) - killed_at
    assert all(len(each) <= 2 and each[-1].who in ("two", "three") for each in killed.values())
    assert min(each[-1].first for each in moved.values()) > killed_at + LEASE - 2 * RETRY

    begun = datetime.now().timestamp()
    stage.send("two", signal.SIGSTOP)
    stage.settle("three")
    woken_at = stage.send("two", signal.SIGCONT)
    stage.settle("two", "three")
    frozen = stage.tenures(begun)
    returned = [each.first for runs in frozen.values() for each in runs if each.who == "two" and each.first > woken_at]
    assert all(len(each) <= 3 for each in frozen.values())
    assert min(returned) > woken_at + LEASE, "it wrote before it was a member for a lease"

    begun = datetime.now().timestamp()
    for old, new in (("two", "four"), ("three", "five")):
        stage.stop(old)
        stage.start(new)
        stage.settle(*(name for name in stage.replicas if name != "one"))
    rolled = gaps(stage.tenures(begun))
    assert rolled[-1] < DEADLINE + 2 * RETRY, "a slot was free for longer than a hand-over takes"
    sys.stdout.write(
        f"killed: all its nodes have a writer after {taken:.2f} s; "
        f"woken: it writes after {min(returned) - woken_at:.2f} s; "
        f"restarted: {len(rolled)} hand-overs, gaps p50 {rolled[len(rolled) // 2]:.2f} s, at most {rolled[-1]:.2f}\n"
    )
