# SPDX-License-Identifier: Apache-2.0
"""kubectl enters pods of the embedded server: exec, attach, logs, cp and port-forward reach programs of the test."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import shutil
import socket
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from embedded_apiserver import KubernetesServer, run
from embedded_apiserver.programs import Process, Program, tar

KUBECTL = shutil.which("kubectl")
pytestmark = [pytest.mark.long, pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")]
POD = """
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: default}
spec: {containers: [{name: db, image: "postgres:17", command: [postgres]}]}
"""


def psql(process: Process) -> int:
    match process.args:
        case ("cat",):
            process.stdout.write(process.stdin.read().upper())
            return 0
        case ("sh",):
            line = process.stdin.readline().decode().strip()
            process.stdout.write(f"you said {line}\n")
            return 0
        case ("size",):
            while process.size == (0, 0):
                process.wait(0.01)
            process.stdout.write("{} x {}\n".format(*process.size))
            process.wait(60)
    process.log("queried")
    process.stdout.write(" ".join(process.args))
    return 7


@attrs.frozen
class Terminal:
    """kubectl, whose three streams are a pseudo-terminal, and the other end of that."""

    child: subprocess.Popen[bytes]
    screen: int

    def until(self, text: bytes) -> bytes:
        """Return what is shown, until it contains a text."""
        shown = b""
        while text not in shown:
            assert select.select([self.screen], [], [], 60)[0], shown
            shown += os.read(self.screen, 1024)
        return shown


@contextlib.contextmanager
def terminal(server: KubernetesServer, *arguments: str) -> Iterator[Terminal]:
    assert KUBECTL is not None
    screen, end = pty.openpty()
    termios.tcsetwinsize(end, (25, 80))
    command = [KUBECTL, "--kubeconfig", str(server.kubeconfig), *arguments]
    with subprocess.Popen(command, stdin=end, stdout=end, stderr=end, start_new_session=True) as child:
        os.close(end)
        try:
            yield Terminal(child, screen)
        finally:
            child.kill()
            os.close(screen)


def upper(process: Process) -> None:
    while line := process.stdin.readline():
        process.stdout.write(line.upper())


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return {"/etc/conf/a": b"one", "/etc/conf/sub/b": b"two" * 30_000}


@pytest.fixture(scope="module")
def server(files: dict[str, bytes]) -> Iterator[KubernetesServer]:
    with run(environment=False) as server:
        server.pods_run()
        server.programs["db"] = Program(tar(files, psql), psql, {5432: upper})
        kubectl(server, "apply", "-f", "-", stdin=POD.encode())
        yield server


def kubectl(server: KubernetesServer, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    assert KUBECTL is not None
    command = [KUBECTL, "--kubeconfig", str(server.kubeconfig), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=120)


def test_exec_shows_output_and_the_exit_status(server: KubernetesServer) -> None:
    done = kubectl(server, "exec", "db-0", "--", "select", "1")

    assert (done.stdout, done.returncode) == (b"select 1", 7)
    assert b"command terminated with exit code 7" in done.stderr
    assert kubectl(server, "logs", "db-0", "--tail=1").stdout == b"queried\n"


def test_exec_and_attach_pass_input_on(server: KubernetesServer) -> None:
    assert kubectl(server, "exec", "-i", "db-0", "--", "cat", stdin=b"text").stdout == b"TEXT"
    assert kubectl(server, "attach", "-i", "db-0", stdin=b"x").stdout == b"postgres"


def test_a_terminal_shows_what_is_typed_edits_lines_and_interrupts(server: KubernetesServer) -> None:
    with terminal(server, "exec", "-it", "db-0", "--", "sh") as typed:
        os.write(typed.screen, b"hellp\x7fo\r")
        assert typed.until(b"you said hello\r\n").startswith(b"hellp")
        assert typed.child.wait(timeout=60) == 0
    with terminal(server, "exec", "-it", "db-0", "--", "size") as typed:
        typed.until(b"80 x 25\r\n")
        os.write(typed.screen, b"\x03")
        assert typed.child.wait(timeout=60) == 130


def test_cp_copies_in_both_directions(server: KubernetesServer, files: dict[str, bytes], tmp_path: Path) -> None:
    kubectl(server, "cp", "db-0:/etc/conf", str(tmp_path / "conf"))
    (tmp_path / "new").write_bytes(b"new" * 50_000)
    kubectl(server, "cp", str(tmp_path / "new"), "db-0:/tmp/new")

    assert (tmp_path / "conf" / "sub" / "b").read_bytes() == files["/etc/conf/sub/b"]
    assert files["/tmp/new"] == b"new" * 50_000


def test_logs_are_followed(server: KubernetesServer) -> None:
    assert KUBECTL is not None
    command = [KUBECTL, "--kubeconfig", str(server.kubeconfig), "logs", "-f", "db-0", "--tail=1"]
    server.programs.log("db-0", "one")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"one\n"
        server.programs.log("db-0", "two")
        assert following.stdout.readline() == b"two\n"
        following.terminate()


def test_port_forward_carries_connections(server: KubernetesServer) -> None:
    assert KUBECTL is not None
    command = [KUBECTL, "--kubeconfig", str(server.kubeconfig), "port-forward", "db-0", ":5432"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as forwarding:
        assert forwarding.stdout is not None
        told = forwarding.stdout.readline().decode()
        port = int(told.partition("127.0.0.1:")[2].partition(" ")[0])
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
                sock.sendall(b"hello\n")
                assert sock.recv(6) == b"HELLO\n"
        forwarding.terminate()
