# SPDX-License-Identifier: Apache-2.0
"""The identity lease of a server."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apimachinery.objects import ObjectKey, microtime
from apimachinery.system import SystemHost
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.upkeep.identity_lease import IdentityLease, identity_name

pytestmark = pytest.mark.ends

NAME = "apiserver-kcaaxytsc3gyd2kyybqqvf4bl4"  # computed by a real server for the host name node-a
LEASE = ObjectKey(NAME, "kube-system")


class Server:
    """A server on host node-a, its lease, and a client."""

    def __init__(self, sim: Simulation, *, hostname: str = "node-a") -> None:
        self.sim = sim
        self.host = sim.host("server")
        self.server = APIServer(self.host)
        self.client = Client(self.host, InProcessTransport(self.host, self.server))
        self.lease = IdentityLease(self.host, self.server, hostname)

    def restart(self) -> None:
        """Start another process with the same objects, which has a lease of its own."""
        self.lease = IdentityLease(self.host, self.server, "node-a")
        self.lease.begin("127.0.0.1:6443")

    def leases(self) -> list[dict[str, Any]]:
        return self.client.list(LEASES, "kube-system", view=dict)


@pytest.mark.scenario("G-01")
@pytest.mark.parametrize(
    ("hostname", "name"),
    [
        pytest.param("localhost", "apiserver-l2yubf4cvcl5c7a3wrubrwqdve", id="localhost"),
        pytest.param("node-a", "apiserver-kcaaxytsc3gyd2kyybqqvf4bl4", id="node-a"),
    ],
)
def test_the_name_follows_from_the_hosts(hostname: str, name: str) -> None:
    """The lease's name is a digest of the host's name and the component's."""
    assert identity_name(hostname) == name


@pytest.mark.scenario("G-02")
def test_a_server_that_starts_has_one_lease(sim: Simulation) -> None:
    """There is one lease in kube-system, with a holder of its own, a duration of an hour, and two labels."""
    server = Server(sim)

    server.lease.begin("127.0.0.1:6443")

    (lease,) = server.leases()
    assert lease["metadata"]["name"] == NAME
    assert lease["metadata"]["labels"] == {
        "apiserver.kubernetes.io/identity": "kube-apiserver",
        "kubernetes.io/hostname": "node-a",
    }
    assert lease["metadata"]["annotations"] == {"kubernetes.io/peer-advertise-address": "127.0.0.1:6443"}
    assert lease["spec"]["holderIdentity"].startswith(f"{NAME}_")
    assert lease["spec"]["leaseDurationSeconds"] == 3600
    assert lease["spec"]["renewTime"] == microtime(server.host.now())


def test_it_is_renewed_every_10_to_10_4_seconds(sim: Simulation) -> None:
    server = Server(sim)
    waits = [server.lease.begin("127.0.0.1:6443")]

    for _ in range(20):
        sim.advance(waits[-1])
        waits.append(server.lease.beat())
        assert server.leases()[0]["spec"]["renewTime"] == microtime(server.host.now())

    assert all(10.0 <= wait < 10.4 for wait in waits)
    assert len({*waits}) == len(waits)


@pytest.mark.scenario("G-04")
def test_a_restart_on_the_same_host_replaces_the_lease(sim: Simulation) -> None:
    """After a crash and a restart the lease has another uid and another holder."""
    server = Server(sim)
    server.lease.begin("127.0.0.1:6443")
    (before,) = server.leases()

    server.restart()

    (after,) = server.leases()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["holderIdentity"] != before["spec"]["holderIdentity"]


@pytest.mark.scenario("G-05")
def test_an_orderly_end_deletes_the_lease(sim: Simulation) -> None:
    """After the end there is no lease, and a second end is not an error."""
    server = Server(sim)
    server.lease.begin("127.0.0.1:6443")

    server.lease.end()
    server.lease.end()

    assert server.leases() == []


@pytest.mark.scenario("G-06")
def test_what_others_took_off_is_back_with_the_next_beat_and_what_they_put_on_stays(sim: Simulation) -> None:
    """A beat restores the identity label and the duration; a label and a holder of another client stay."""
    server = Server(sim)
    server.lease.begin("127.0.0.1:6443")
    labels = {"apiserver.kubernetes.io/identity": None, "user": "x"}
    spec = {"holderIdentity": "stranger", "leaseDurationSeconds": 99}
    server.client.patch(LEASES, LEASE, {"metadata": {"labels": labels}, "spec": spec})

    server.lease.beat()

    (lease,) = server.leases()
    assert lease["metadata"]["labels"]["apiserver.kubernetes.io/identity"] == "kube-apiserver"
    assert lease["metadata"]["labels"]["user"] == "x"
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == ("stranger", 3600)


@pytest.mark.scenario("G-07")
def test_a_lease_deleted_by_hand_is_back_with_the_next_beat(sim: Simulation) -> None:
    """The beat after a deletion creates the lease again, with the same holder."""
    server = Server(sim)
    server.lease.begin("127.0.0.1:6443")
    (before,) = server.leases()
    server.client.delete(LEASES, LEASE)

    server.lease.beat()

    (after,) = server.leases()
    assert after["spec"]["holderIdentity"] == before["spec"]["holderIdentity"]


@pytest.mark.parametrize("hostname", ["h" * 80, "a" * 62 + ".b", "h" * 62 + "-" + "x" * 9])
def test_a_host_name_too_long_for_a_label_is_cut(sim: Simulation, hostname: str) -> None:
    server = Server(sim, hostname=hostname)

    server.lease.begin("127.0.0.1:6443")

    (lease,) = server.leases()
    assert hostname.startswith(lease["metadata"]["labels"]["kubernetes.io/hostname"])
    assert lease["metadata"]["name"] == identity_name(hostname)


def test_a_server_that_wants_a_token_gets_it(sim: Simulation) -> None:
    host = sim.host("server")
    server = APIServer(host, token="secret")

    IdentityLease(host, server, "node-a", token="secret").begin("127.0.0.1:6443")

    assert server.storage.get("leases.coordination.k8s.io", f"kube-system/{NAME}") is not None


def started(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "embedded_apiserver", "--data-dir", str(folder)]
    process = subprocess.Popen(
        [*command, "--kubeconfig-out", str(folder / "kubeconfig")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"ready")
    return process


def holders(folder: Path) -> list[str]:
    manager = Manager.from_kubeconfig(folder / "kubeconfig")
    try:
        leases: list[dict[str, Any]] = manager.client.list(LEASES, "kube-system", view=dict)
        return [lease["spec"]["holderIdentity"] for lease in leases]
    finally:
        manager.transport.close()


def test_a_process_keeps_its_lease_replaces_the_one_of_a_killed_one_and_deletes_it_at_the_end(tmp_path: Path) -> None:
    found = []
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGTERM):
        with started(tmp_path) as process:
            found.append(holders(tmp_path))
            process.send_signal(number)

    assert [len(each) for each in found] == [1, 1, 1]
    assert len({*found[0], *found[1], *found[2]}) == 3
    host = SystemHost()
    server = APIServer(host, data_dir=tmp_path)
    leases = Client(host, InProcessTransport(host, server)).list(LEASES, "kube-system", view=dict)
    server.close()
    assert leases == [], "nothing is left behind by the last one"
