# SPDX-License-Identifier: Apache-2.0
"""`controllers run` with probes and metrics, as a process."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

pytestmark = pytest.mark.ends


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "controllers", "run", "--embedded", *arguments]


def get(port: str, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        text: str = answer.read().decode()
        return text


@pytest.mark.embedded("the command starts a server of its own")
def test_a_run_serves_what_it_was_asked_to_and_shows_itself_on_sigusr1() -> None:
    arguments = ("--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=localhost:0")
    with subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        ports = []
        while len(ports) < 2:
            ports += re.findall(r"serving port=(\d+)", next(lines))
        assert any("controller started" in line for line in lines)
        metrics, probes = ports

        assert 'controller_runtime_max_concurrent_reconciles{controller="node-ttl"} 5.0' in get(metrics, "/metrics")
        assert json.loads(get(metrics, "/debug/controllers"))["controllers"][0]["name"] == "node-ttl"
        assert get(probes, "/livez") == "ok"
        process.send_signal(signal.SIGUSR1)
        assert any('"name": "node-ttl"' in line for line in lines)
        process.send_signal(signal.SIGTERM)
        process.communicate()

    assert process.returncode == 0


@pytest.mark.parametrize("option", ["--metrics-bind-address", "--health-probe-bind-address"])
def test_an_address_in_use_is_one_line_with_the_remedy_and_nothing_is_started(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        outcome = subprocess.run(command(option, address), capture_output=True, text=True, check=False)

    assert outcome.returncode == 2
    assert outcome.stderr == (
        f"controllers: cannot serve on {address}: it is in use; give another address, or 0 to serve nothing\n"
    )
