# SPDX-License-Identifier: Apache-2.0
"""Nothing of the server is left of a run of tests, however it ends, and no other cluster is ever asked."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from kit.apiserver.pytest_runs import begun, passed

pytestmark = pytest.mark.ends

WAITS = """
import os, sys
from ask import asked

def test_waits(kubernetes_server):
    kubernetes_server.delays("list", "configmaps", seconds=3600)
    os.write(2, f"waits at {kubernetes_server.url}\\n".encode())
    asked()
"""


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_a_run_that_is_ended_in_the_middle_of_a_request_leaves_nothing_running(
    tmp_path: Path, number: signal.Signals
) -> None:
    running = begun(tmp_path, {"test_a.py": WAITS}, "-s")
    assert running.stdout is not None
    port = next(int(found[1]) for line in running.stdout if (found := re.search(r"waits at \S+:(\d+)", line)))

    running.send_signal(number)
    running.communicate()

    assert running.returncode == (2 if number == signal.SIGINT else -signal.SIGKILL)
    assert is_gone(running.pid)
    assert not answers(port)


def test_a_test_that_times_out_leaves_nothing_running(tmp_path: Path) -> None:
    running = begun(tmp_path, {"test_a.py": WAITS}, *("-s", "-p", "pytest_timeout", "--timeout", "2"))
    output, _ = running.communicate()

    assert "Timeout" in output
    assert is_gone(running.pid)
    assert not answers(int(re.findall(r"waits at \S+:(\d+)", output)[0]))


@contextmanager
def a_trap() -> Iterator[tuple[int, list[str]]]:
    """A port at which each connection is noted and closed."""
    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    with server.accept()[0]:
                        asked.append("asked")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1], asked
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


MANY = """
import gc, os, resource, threading, tempfile
import pytest
from ask import asked, created, names

def opened():
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20

marks = {}
count = 0

@pytest.mark.parametrize("number", range(200))
def test_with(kubernetes_server, number):
    global count
    count += 1
    assert names() == []
    for each in "abc":
        assert created(each) == 201
    if count == 20:
        marks.update(opened=opened(), resident=resident())
    if count > 80 and count % 10 == 0:
        files, threads = opened()
        assert files <= marks["opened"][0] + 4 and threads <= marks["opened"][1]
        assert resident() <= marks["resident"] + 8

@pytest.mark.parametrize("number", range(20))
def test_without(number):
    with pytest.raises(Exception):
        status, body = asked()
        assert status < 400, body
"""
CONFTEST = """
import os, threading, pytest

@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    left = [each.name for each in threading.enumerate() if each.name.startswith("apiserver")]
    if left:
        os.write(2, f"left: {left}".encode())
        os._exit(99)
"""
BROKEN = "import kubernetes_that_is_not_there\ndef test_x(kubernetes_server): ..."


def test_after_two_hundred_tests_in_two_workers_nothing_is_left_and_the_trap_was_never_asked(tmp_path: Path) -> None:
    tests, home, temporary = tmp_path / "tests", tmp_path / "home", tmp_path / "temporary"
    for folder in (tests, home / ".kube", temporary):
        folder.mkdir(parents=True)
    with a_trap() as (port, asked):
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "trap",
            "contexts": [{"name": "trap", "context": {"cluster": "trap", "user": "trap"}}],
            "clusters": [{"name": "trap", "cluster": {"server": f"https://127.0.0.1:{port}"}}],
            "users": [{"name": "trap", "user": {}}],
        }
        (home / ".kube" / "config").write_text(json.dumps(kubeconfig))
        files = {"test_many.py": MANY, "test_broken.py": BROKEN, "conftest.py": CONFTEST}
        env = {"HOME": str(home), "TMPDIR": str(temporary), "KUBERNETES_SERVICE_HOST": "127.0.0.1"}
        env |= {"KUBERNETES_SERVICE_PORT": str(port)}
        running = begun(tests, files, *("-p", "xdist", "-n", "2", "--continue-on-collection-errors"), env=env)
        output, _ = running.communicate()

    assert (running.returncode, passed(output)) == (1, 220), output
    assert "No module named 'kubernetes_that_is_not_there'" in output
    assert asked == []
    assert [each.name for each in temporary.iterdir() if each.name.startswith("embedded-apiserver")] == []
    assert is_gone(running.pid)
