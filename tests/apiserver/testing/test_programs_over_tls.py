# SPDX-License-Identifier: Apache-2.0
"""Programs of containers, as the official client and a WebSocket of v5 reach them over TLS."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import websocket
import yaml
from kit.apiserver.talking import CLOSE_STDIN, V5
from kubernetes import client, config
from kubernetes.stream import stream

from embedded_apiserver import KubernetesServer, run
from embedded_apiserver.programs import Process

POD = {"metadata": {"name": "db-0"}, "spec": {"containers": [{"name": "db", "image": "postgres:17"}]}}


def psql(process: Process) -> int:
    match process.args:
        case ("cat",):
            while data := process.stdin.read(65536):
                process.stdout.write(data)
            return 0
        case ("wait",):
            process.stdout.write("begun")
            process.log(f"the input ended after {len(process.stdin.read())} bytes")
            return 0
    process.stdout.write("".join(process.args))
    process.stderr.write("!")
    return 4


@pytest.fixture(scope="module")
def server() -> Iterator[KubernetesServer]:
    with run(environment=False) as server:
        server.pods_run()
        server.programs["db"] = psql
        yield server


@pytest.fixture(scope="module")
def api(server: KubernetesServer) -> Iterator[client.CoreV1Api]:
    with closing(config.new_client_from_config(str(server.kubeconfig))) as api_client:
        core = client.CoreV1Api(api_client)
        core.create_namespaced_pod("default", POD)
        yield core


def opened(api: client.CoreV1Api, *command: str, **options: Any) -> Any:
    asked = {"stdin": True, "stdout": True, "stderr": True, "tty": False, "_preload_content": False, **options}
    return stream(api.connect_get_namespaced_pod_exec, "db-0", "default", command=list(command), **asked)


def test_the_official_client_reads_output_and_the_exit_status(api: client.CoreV1Api) -> None:
    answer = opened(api, "select", "1")
    answer.run_forever(timeout=60)

    answer.sock.shutdown()  # which the client leaves open once the command has ended
    assert (answer.read_stdout(), answer.read_stderr(), answer.returncode) == ("select1", "!", 4)


def test_the_official_client_follows_a_log(server: KubernetesServer, api: client.CoreV1Api) -> None:
    server.programs.log("db-0", "first")
    answer = api.read_namespaced_pod_log("db-0", "default", follow=True, tail_lines=1, _preload_content=False)
    lines = iter(answer)

    begun = next(lines)
    server.programs.log("db-0", "second")

    assert (begun, next(lines)) == (b"first\n", b"second\n")
    answer.close()


@contextmanager
def websocket_to(server: KubernetesServer, command: str) -> Iterator[websocket.WebSocket]:
    """Open a WebSocket of v5 to a command of the pod."""
    token = yaml.safe_load(server.kubeconfig.read_text())["users"][0]["user"]["token"]
    url = f"{server.url.replace('https', 'wss')}/api/v1/namespaces/default/pods/db-0/exec"
    opened = websocket.create_connection(
        f"{url}?command={command}&stdin=1&stdout=1",
        header=[f"authorization: Bearer {token}"],
        subprotocols=[V5],
        sslopt={"cert_reqs": ssl.CERT_NONE, "check_hostname": False},
        timeout=60,
    )
    with closing(opened):
        assert opened.getsubprotocol() == V5
        yield opened


def test_input_of_v5_ends_and_two_megabytes_come_back(server: KubernetesServer, api: client.CoreV1Api) -> None:
    part, heard = bytes(range(256)) * 256, {1: b"", 3: b""}
    with websocket_to(server, "cat") as opened:
        for number in range(1, 33):  # by turns, because TLS of Python 3.11 is for one thread at a time
            opened.send_binary(b"\0" + part)
            while len(heard[1]) < number * len(part):
                heard[1] += opened.recv()[1:]
        opened.send_binary(CLOSE_STDIN)
        heard[3] = opened.recv()[1:]

    assert heard[1] == part * 32
    assert json.loads(heard[3]) == {"metadata": {}, "status": "Success"}


def test_a_client_that_leaves_ends_the_input(server: KubernetesServer, api: client.CoreV1Api) -> None:
    with websocket_to(server, "wait") as opened:
        assert [opened.recv(), opened.recv()] == [b"\1", b"\1begun"]  # an empty one tells that the connection is there
        opened.send_binary(b"\0abc")
    answer = api.read_namespaced_pod_log("db-0", "default", follow=True, _preload_content=False)

    assert b"the input ended after 3 bytes\n" in iter(answer)
    answer.close()
