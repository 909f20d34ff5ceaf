# SPDX-License-Identifier: Apache-2.0
"""`controllers agent` as a user meets it: a process that keeps this machine's node alive, seen through kubectl."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.processes.kubectl import Kubectl
from kit.processes.processes import read_until, running
from kit.processes.servers import Serve

from apimachinery.objects import ObjectKey
from apimachinery.quantities import parse_quantity
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import eventually
from controller_runtime.testing.server_process import APIServerProcess
from controllers.agent.observer import MachineObserver
from controllers.heartbeat.node_lease import NAMESPACE

pytestmark = pytest.mark.ends

NAME = "this-machine"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "controllers", "agent", "--node-name", NAME, *arguments]


def end(process: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> str:
    """Asks the process to stop, and returns its remaining output."""
    process.send_signal(number)
    _, rest = process.communicate()
    assert process.returncode == 0, rest
    assert "Traceback" not in rest
    return rest


class Cluster:
    """A server, and a manager of the world's that watches it."""

    def __init__(self, kubeconfig: Path) -> None:
        self.option = f"--kubeconfig={kubeconfig}"
        self.manager = Manager.from_kubeconfig(kubeconfig)
        self.client = self.manager.client
        self._stop = Stop(self.manager.host)
        self._thread = spawn(self.manager.host, self._stop, "world", lambda: self.manager.run(self._stop))

    def node(self) -> dict[str, Any]:
        node: dict[str, Any] = self.client.get(NODES, ObjectKey(NAME), dict)
        return node

    def conditions(self) -> dict[str, dict[str, Any]]:
        return {c["type"]: c for c in self.node()["status"].get("conditions", ())}

    def await_status(self, kind: str, status: str) -> None:
        def is_so() -> bool:
            return self.conditions().get(kind, {}).get("status") == status

        eventually(self.manager, NODES, is_so, timeout=120.0)

    def end(self) -> None:
        self._stop.set()
        self._thread.join_until(None)


@pytest.fixture
def cluster(serve: Serve) -> Iterator[Cluster]:
    with serve() as kubeconfig:
        cluster = Cluster(kubeconfig)
        yield cluster
        cluster.end()


@pytest.mark.embedded("the command starts a server of its own")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
def test_it_runs_on_a_server_of_its_own_and_a_signal_ends_both(number: signal.Signals) -> None:
    with running(command("--embedded")) as process:
        server = int(read_until(process, r"server is ready pid=(\d+)")[1])
        read_until(process, "node is registered")

        rest = end(process, number)

    assert rest.endswith("stopped\n")
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


def test_its_numbers_are_those_of_this_machine(cluster: Cluster) -> None:
    with running(command(cluster.option)) as process:
        read_until(process, "node is registered")
        status = cluster.node()["status"]
        end(process)

    def told(*arguments: str) -> str:
        return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()[-1]

    memory = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    assert memory
    capacity = {name: parse_quantity(amount) for name, amount in status["capacity"].items()}
    assert capacity["cpu"] in (int(told("nproc", "--all")), os.sysconf("SC_NPROCESSORS_ONLN"))
    assert capacity["memory"] == int(memory[1]) * 1024
    assert capacity["ephemeral-storage"] == int(told("df", "-B1", "--output=size", "/"))
    assert capacity["pods"] == 0
    assert parse_quantity(status["allocatable"]["memory"]) == capacity["memory"] - 100 * 1024**2
    info = status["nodeInfo"]
    assert info["kernelVersion"] == told("uname", "-r")
    assert info["operatingSystem"] == "linux"
    assert info["bootID"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_a_threshold_on_the_command_line_provokes_pressure(cluster: Cluster) -> None:
    with running(command(cluster.option, "--eviction-hard", "memory.available<100%")) as process:
        read_until(process, "node is registered")
        conditions = cluster.conditions()
        end(process)

    assert (conditions["MemoryPressure"]["status"], conditions["MemoryPressure"]["reason"]) == (
        "True",
        "KubeletHasInsufficientMemory",
    )
    assert conditions["DiskPressure"]["status"] == "False"
    assert conditions["Ready"]["status"] == "True"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_describes_it_like_any_node(cluster: Cluster, tmp_path: Path) -> None:
    kubectl = Kubectl(tmp_path, Path(cluster.option.partition("=")[2]))
    taint = {"key": "dedicated", "value": "test", "effect": "NoSchedule"}
    cluster.client.create(NODES, {"metadata": {"name": NAME}, "spec": {"taints": [taint]}})
    with running(command(cluster.option)) as process:
        read_until(process, "node is registered")
        eventually(cluster.manager, LEASES, lambda: cluster.client.list(LEASES, NAMESPACE), timeout=120.0)
        cluster.await_status("Ready", "True")

        said, table = kubectl("describe", "node", NAME), kubectl("get", "node", NAME)
        end(process)

    addresses = [r"  InternalIP: +\S+"] if MachineObserver().observe().routed else []  # there is none without a network
    for line in (
        *addresses,
        r"Name: +this-machine",
        r"Taints: +dedicated=test:NoSchedule",
        r"  HolderIdentity: +this-machine",
        r"  MemoryPressure +False .* KubeletHasSufficientMemory +\S.*",
        r"  Ready +True .* KubeletReady +\S.*",
        r"  ephemeral-storage: +\d+\S*",
        r"  Machine ID: +\S+",
        r"  Container Runtime Version: +none://",
        r"  Normal +Starting .*node-agent.*",
    ):
        assert re.search(f"^{line}$", said, re.MULTILINE), (line, said)
    assert re.search(r"this-machine +Ready +<none> +\d+s +v\S+node-agent", table)


def test_a_killed_agent_leaves_node_and_lease_and_the_next_one_goes_on(cluster: Cluster) -> None:
    cluster.client.create(NODES, {"metadata": {"name": NAME}})  # another client made this node
    with running(command(cluster.option)) as process:
        read_until(process, "node is registered")
        eventually(cluster.manager, LEASES, lambda: cluster.client.list(LEASES, NAMESPACE), timeout=120.0)
        cluster.await_status("Ready", "True")
        process.kill()
        process.wait()
    node = cluster.node()
    (lease,) = cluster.client.list(LEASES, NAMESPACE, view=dict)

    with running(command(cluster.option)) as process:
        read_until(process, "node is registered")
        end(process)

    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
    assert cluster.node()["metadata"]["uid"] == node["metadata"]["uid"]
    assert [c["lastTransitionTime"] for c in cluster.node()["status"]["conditions"]] == [
        c["lastTransitionTime"] for c in node["status"]["conditions"]
    ]


def test_asked_to_stop_with_a_grace_it_says_that_the_node_goes(cluster: Cluster) -> None:
    with running(command(cluster.option, "--shutdown-grace-period", "10")) as process:
        read_until(process, "node is registered")
        end(process)

    ready = cluster.conditions()["Ready"]
    assert (ready["status"], ready["reason"], ready["message"]) == (
        "False",
        "KubeletNotReady",
        "node is shutting down",
    )


def test_a_node_that_is_deleted_under_it_comes_back_with_the_next_start(cluster: Cluster) -> None:
    often = ("--node-status-update-frequency", "0.2")
    with running(command(cluster.option, *often)) as process:
        read_until(process, "node is registered")
        cluster.client.delete(NODES, ObjectKey(NAME))
        read_until(process, "WARNING .*cannot post the status.*not found")
        end(process)
    assert cluster.client.list(NODES, view=dict) == []

    with running(command(cluster.option)) as process:
        read_until(process, "node is registered")
        end(process)
    assert cluster.conditions()["Ready"]["status"] == "True"


@pytest.mark.embedded("its server is started and stopped")
def test_a_server_that_comes_later_is_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    kept = ("--port", str(port), "--data-dir", str(tmp_path / "data"))
    kubeconfig = tmp_path / "kubeconfig"
    with APIServerProcess(SystemHost(), *kept) as server:
        shutil.copy(server.kubeconfig, kubeconfig)

    with running(command(f"--kubeconfig={kubeconfig}")) as process:
        read_until(process, "WARNING waiting for the API server .*refused")
        with APIServerProcess(SystemHost(), *kept):
            read_until(process, "INFO +the API server answers")
            read_until(process, "node is registered")
            end(process)


@pytest.mark.embedded("its server is started and stopped")
def test_whoever_waits_for_a_server_can_be_stopped(tmp_path: Path) -> None:
    with APIServerProcess(SystemHost()) as server:
        kubeconfig = shutil.copy(server.kubeconfig, tmp_path / "kubeconfig")

    with running(command(f"--kubeconfig={kubeconfig}")) as process:
        read_until(process, "waiting for the API server")
        rest = end(process, signal.SIGINT)

    assert rest.endswith("stopped\n")


@pytest.mark.embedded("its server is started and stopped")
def test_a_server_that_goes_and_comes_back_is_served_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    kept = ("--port", str(port), "--data-dir", str(tmp_path / "data"))
    kubeconfig = tmp_path / "kubeconfig"
    with contextlib.ExitStack() as first:
        server = first.enter_context(APIServerProcess(SystemHost(), *kept))
        shutil.copy(server.kubeconfig, kubeconfig)
        with running(command(f"--kubeconfig={kubeconfig}", "--node-status-update-frequency", "0.2")) as process:
            read_until(process, "node is registered")

            first.close()
            read_until(process, "WARNING .*cannot post the status")
            with APIServerProcess(SystemHost(), *kept):
                read_until(process, "requests for the node succeed again")
                end(process)


def test_a_kubelets_node_is_not_fought_over_unless_that_is_asked_for(cluster: Cluster) -> None:
    info = dict.fromkeys(
        ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion"), ""
    )
    info |= {"kubeletVersion": "v1.36.2", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"}
    cluster.client.create(NODES, {"metadata": {"name": NAME}, "status": {"nodeInfo": info}})

    refused = subprocess.run(command(cluster.option), capture_output=True, text=True, check=False)
    with running(command(cluster.option, "--take-over")) as process:
        read_until(process, "node is registered")
        cluster.await_status("Ready", "True")
        end(process)

    assert refused.returncode == 2
    says = r"controllers: a kubelet \(v1\.36\.2\) posts the status of node this-machine: .*\n"
    assert re.fullmatch(says, refused.stderr)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        pytest.param(["--node-name", " "], 2, "the node has no name", id="no name"),
        pytest.param(["--embedded", "--kubeconfig", "x"], 2, "exclude each other", id="two clusters"),
        pytest.param(["--kubeconfig", "/nowhere"], 2, "does not exist", id="no kubeconfig"),
        pytest.param(["--eviction-hard", "memory<1"], 2, "--eviction-hard: ", id="threshold"),
        pytest.param(["--register-node=maybe"], 2, "'maybe' is not a valid boolean", id="no boolean"),
        pytest.param(["--nope"], 2, "no such option", id="unknown option"),
    ],
)
def test_bad_input_is_one_line_and_a_status(arguments: list[str], status: int, says: str) -> None:
    outcome = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)

    assert outcome.returncode == status
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr
    assert says in outcome.stderr
