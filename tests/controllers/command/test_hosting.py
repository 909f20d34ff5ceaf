# SPDX-License-Identifier: Apache-2.0
"""The controllers and the garbage collection that an embedded server hosts, in this process and in its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kit.controllers.electing import OLDEST

from apimachinery.errors import NotFound, UsageError
from apimachinery.objects import ObjectKey, microtime
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES, NAMESPACES, NODES
from controller_runtime.client.client import Client
from controller_runtime.client.http import configuration
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.server_process import APIServerProcess
from controller_runtime.testing.simulation import Simulation
from controllers.command.hosting import HOSTABLE, hosted, select_hosted
from controllers.election import lease_candidate_election
from controllers.shared.with_token import WithToken
from embedded_apiserver.server import APIServer
from embedded_apiserver.upkeep.upkeep import Upkeep

LEASE = ObjectKey("lease", "default")


def candidate(now: str) -> dict[str, Any]:
    spec = {"leaseName": "lease", "binaryVersion": "1.36.0", "emulationVersion": "1.36.0", "strategy": OLDEST}
    return {"metadata": {"name": "a", "namespace": "default"}, "spec": {**spec, "renewTime": now}}


def test_elections_are_held_and_garbage_is_collected_with_nothing_else_started(sim: Simulation) -> None:
    host = sim.host("server")
    server = APIServer(host, token="secret")
    client = Client(host, InProcessTransport(host, WithToken(server, "secret")))
    owner = client.create(NODES, {"metadata": {"name": "node"}})
    reference = {"apiVersion": "v1", "kind": "Node", "name": "node", "uid": owner.uid}
    client.create(LEASES, {"metadata": {"name": "node", "namespace": "default", "ownerReferences": [reference]}})

    with hosted(host, server, "secret"):
        sim.advance(1.0)
        client.create(LEASE_CANDIDATES, candidate(microtime(host.now())))
        client.delete(NODES, ObjectKey("node"))
        sim.advance(2.0)

        assert client.get(LEASES, LEASE, dict)["spec"]["holderIdentity"] == "a"
        with pytest.raises(NotFound):
            client.get(LEASES, ObjectKey("node", "default"), dict)
    assert sim.threads() == []


def test_what_is_hosted_is_chosen_by_name() -> None:
    assert select_hosted(" lease-candidate-gc, ") == ["lease-candidate-gc"]
    assert select_hosted("") == []
    assert select_hosted(",".join(HOSTABLE)) == [*HOSTABLE]
    with pytest.raises(UsageError, match="'node-ttl' cannot be hosted: give some of lease-candidate-election"):
        select_hosted("node-ttl")


def test_the_command_logs_whole_lines_and_warns_of_nothing_that_it_does_itself(tmp_path: Path) -> None:
    """It reads lease candidates in a version that the server calls deprecated, and is warned of the open directory."""
    tmp_path.chmod(0o755)
    command = [sys.executable, "-m", "controllers", "apiserver", "--exit-with-parent", "--data-dir", str(tmp_path)]

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"ready ")
        lines = process.communicate()[1].decode().splitlines()

    assert len(lines) == 1
    assert " WARNING " in lines[0]
    assert "chmod" in lines[0]


def test_what_is_hosted_is_started_again_however_it_fails(sim: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A predicate that raises once ends the manager, and an error in the upkeep ends the upkeep; both start again."""
    host = sim.host("server")
    server = APIServer(host)
    client = Client(host, InProcessTransport(host, server))
    bugs = {"predicate", "upkeep"}

    def fail_once(bug: str) -> None:
        if bug in bugs:
            bugs.remove(bug)
            raise KeyError(bug)

    may_matter, settle = lease_candidate_election._may_matter, Upkeep.settle
    monkeypatch.setattr(
        lease_candidate_election, "_may_matter", lambda delta: (fail_once("predicate"), may_matter(delta))[1]
    )
    monkeypatch.setattr(Upkeep, "settle", lambda self: (fail_once("upkeep"), settle(self))[1])

    with hosted(host, server, ""):
        sim.advance(1.0)
        client.create(LEASE_CANDIDATES, candidate(microtime(host.now())))
        client.create(NAMESPACES, {"metadata": {"name": "short"}})
        client.delete(NAMESPACES, ObjectKey("short"))
        sim.advance(5.0)
        client.patch(LEASE_CANDIDATES, ObjectKey("a", "default"), {"spec": {"renewTime": microtime(host.now())}})
        sim.advance(1.0)

        assert bugs == set()
        assert client.get(LEASES, LEASE, dict)["spec"]["holderIdentity"] == "a"
        with pytest.raises(NotFound):
            client.get(NAMESPACES, ObjectKey("short"), dict)
    assert sim.threads() == []


@pytest.mark.stress
def test_the_command_elects_over_tls() -> None:
    host = SystemHost()
    asleep = Stop(host)
    with APIServerProcess(host, program=("controllers", "apiserver")) as process:
        transport = HTTPTransport(host, configuration.from_kubeconfig(process.kubeconfig, None))
        client = Client(host, transport)
        client.create(LEASE_CANDIDATES, candidate(microtime(host.now())))
        deadline = host.monotonic() + 30.0
        held: list[str] = []
        while not held and host.monotonic() < deadline:
            asleep.wait(0.05)
            leases = client.list(LEASES, "default", view=dict[str, Any])
            held = [lease["spec"]["holderIdentity"] for lease in leases]
            client.patch(LEASE_CANDIDATES, ObjectKey("a", "default"), {"spec": {"renewTime": microtime(host.now())}})
        transport.close()

    assert held == ["a"]
