# SPDX-License-Identifier: Apache-2.0
"""The embedded server as a process: its output on standard error neither blocks it nor confuses its parent."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apimachinery.errors import ControllerRuntimeError
from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.testing.server_process import APIServerProcess

HOST = SystemHost()


def test_a_server_that_complains_more_than_a_pipe_holds_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONVERBOSE", "1")  # some hundred kilobytes on standard error

    with APIServerProcess(HOST) as server:
        transport = HTTPTransport(HOST, from_kubeconfig(server.kubeconfig))
        answer = transport.request(HTTPRequest("GET", "/readyz"), HOST.monotonic() + 10.0)
        transport.close()

    assert answer.body == b"ok"


def test_a_server_that_does_not_start_has_its_last_words_told() -> None:
    with pytest.raises(ControllerRuntimeError, match=r"ended at its start: error: .*No such option.*--nope"):
        APIServerProcess(HOST, "--nope").start()


def test_a_server_that_is_too_slow_is_told_and_ended() -> None:
    with pytest.raises(ControllerRuntimeError, match="was not ready within 0 s: it wrote nothing to standard error"):
        APIServerProcess(HOST, start_timeout=0.0).start()


STARTS_ONE_AND_IS_KILLED = """
import os, signal
from apimachinery.system import SystemHost
from controller_runtime.testing.server_process import APIServerProcess

with APIServerProcess(SystemHost()) as server:
    print(server.pid, server.kubeconfig, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_is_left_of_a_server_whose_starter_was_killed() -> None:
    starter = subprocess.run([sys.executable, "-c", STARTS_ONE_AND_IS_KILLED], stdout=subprocess.PIPE, text=True)
    pid, kubeconfig = starter.stdout.split()
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        ending = os.pidfd_open(int(pid))
        select.select([ending], [], [], 20.0)
        os.close(ending)

    assert starter.returncode == -signal.SIGKILL
    assert not Path(kubeconfig).parent.exists()
