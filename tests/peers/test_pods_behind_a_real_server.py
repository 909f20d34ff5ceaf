# SPDX-License-Identifier: Apache-2.0
"""Commands, logs and ports through a real kube-apiserver, which hands them on to a kubelet that this test plays.

`REAL_KUBECONFIG` names the server, of 1.36 or later and without nodes: those before speak SPDY to kubelets.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.processes.played_kubelet import kubelet

import embedded_apiserver
from controller_runtime import Client, ObjectKey, SystemHost
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.errors import AlreadyExists
from controller_runtime.pods import CommandFailed
from controller_runtime.resources import NODES, PODS
from embedded_apiserver.programs import Process, Program

REAL = os.environ.get("REAL_KUBECONFIG", "")
pytestmark = [pytest.mark.long, pytest.mark.skipif(not REAL, reason="REAL_KUBECONFIG names no server")]
NODE, KEY = "played", ObjectKey("entered", "default")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": KEY.name, "namespace": KEY.namespace},
    "spec": {"nodeName": NODE, "containers": [{"name": "db", "image": "db"}]},
}
RUNNING = {"status": {"phase": "Running", "podIP": "10.1.1.1"}}
FEATURE = "ExtendWebSocketsToKubelet"


def run(process: Process) -> int:
    match process.args:
        case ("cat",):
            process.stdout.write(process.stdin.read().upper())
            return 0
        case ("big",):
            process.stdout.write(bytes(range(256)) * 4096)
            return 0
    process.stderr.write("no such command\n")
    process.log("asked")
    return 7


def echo(process: Process) -> None:
    while line := process.stdin.readline():
        process.stdout.write(line.upper())


def connected(stack: contextlib.ExitStack, path: str | Path) -> Client:
    host = SystemHost()
    transport = stack.enter_context(contextlib.closing(HTTPTransport(host, from_kubeconfig(path))))
    return Client(host, transport)


@pytest.fixture
def client() -> Iterator[Client]:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(embedded_apiserver.run(environment=False))
        real, inner = (connected(stack, path) for path in (REAL, server.kubeconfig))
        server.programs["db"] = Program(run, run, {5432: echo})
        with kubelet(server) as port:
            status = {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
                "declaredFeatures": [FEATURE],
            }
            for each in (real, inner):
                for kind, body in (
                    (NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}),
                    (PODS, POD),
                ):
                    try:
                        each.create(kind, body)
                    except AlreadyExists:
                        continue
                each.patch(NODES, ObjectKey(NODE), {"status": status}, subresource="status")
                each.patch(PODS, KEY, RUNNING, subresource="status")
            yield real
            real.delete(PODS, KEY, grace_period_seconds=0)
            real.delete(NODES, ObjectKey(NODE))


def test_a_command_has_input_output_and_an_exit_status(client: Client) -> None:
    assert client.exec(KEY, ["cat"], stdin=b"text").stdout == b"TEXT"
    with pytest.raises(CommandFailed, match="no such command"):
        client.exec(KEY, ["x"]).check()


def test_a_megabyte_passes(client: Client) -> None:
    assert client.exec(KEY, ["big"]).stdout == bytes(range(256)) * 4096


def test_logs_are_read(client: Client) -> None:
    client.exec(KEY, ["x"])

    assert "asked" in list(client.logs(KEY))


def test_a_port_is_forwarded(client: Client) -> None:
    with client.port_forward(KEY, 5432).connect() as connection:
        connection.sendall(b"select\n")
        assert connection.recv(7) == b"SELECT\n"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_enters_the_same_pod(client: Client) -> None:
    command = ["kubectl", "--kubeconfig", REAL, "exec", "-i", KEY.name, "--", "cat"]

    assert subprocess.run(command, input=b"text", capture_output=True, check=True, timeout=60).stdout == b"TEXT"
