# SPDX-License-Identifier: Apache-2.0
"""Commands to running hollow nodes, over a real socket."""

from __future__ import annotations

import contextlib
import json
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from apimachinery.errors import UsageError
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controllers.hollow.control import HollowControl, command, control_folder
from controllers.hollow.nodes import HollowNodes
from controllers.hollow.selection import Selection
from embedded_apiserver.server import APIServer


@contextlib.contextmanager
def controlled(path: Path | None) -> Iterator[HollowControl]:
    """Return the control of six hollow nodes that listen for commands and make no requests."""
    host = SystemHost()
    nodes = HollowNodes(host, Client(host, InProcessTransport(host, APIServer(host))), 6)
    stop = Stop(host)
    with HollowControl(nodes, path) as control:
        thread = spawn(host, stop, "control", lambda: control.run(stop))
        try:
            yield control
        finally:
            stop.set()
            thread.join_until(None)
    assert stop.failure is None


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a runtime folder of the user's own."""
    with tempfile.TemporaryDirectory() as folder:  # `tmp_path` is longer than the path of a socket may be
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def test_commands_reach_the_nodes_and_answer_with_the_names(runtime: Path) -> None:
    with controlled(None):
        killed = command("kill", Selection(zone="zone-a"))
        paused = command("pause", Selection(names=["hollow-00001", "hollow-00003"]))
        rack = command("kill", Selection(rack="rack-c0"))
        revived = command("revive", Selection(random=10))

    assert killed == ["hollow-00000", "hollow-00003"]
    assert paused == ["hollow-00001"], "the other is dead"
    assert rack == ["hollow-00002", "hollow-00005"]
    assert revived == ["hollow-00000", "hollow-00001", "hollow-00002", "hollow-00003", "hollow-00005"]


def test_the_socket_is_the_users_alone_and_gone_afterwards(runtime: Path) -> None:
    with controlled(None) as control:
        assert stat.S_IMODE(control.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(control.path.parent.stat().st_mode) == 0o700

    assert not control.path.exists()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"kill\n", id="no JSON"),
        pytest.param(b"[]\n", id="no mapping"),
        pytest.param(b'{"do": "fly", "random": 1}\n', id="unknown"),
        pytest.param(b'{"do": "kill", "random": "x"}\n', id="no number"),
    ],
)
def test_what_is_no_command_is_answered_and_harms_nobody(runtime: Path, line: bytes) -> None:
    with controlled(None) as control:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(control.path))
            connection.sendall(line)
            answer = json.loads(connection.recv(4096))

        assert "not a command" in answer["error"]
        assert command("kill", Selection(random=1))


def test_whoever_hangs_up_harms_nobody(runtime: Path) -> None:
    with controlled(None) as control:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(control.path))

        assert command("kill", Selection(names=["hollow-00002"])) == ["hollow-00002"]


def test_a_wrong_name_is_told_by_the_other_side(runtime: Path) -> None:
    with controlled(None), pytest.raises(UsageError, match="no hollow node is named 'x'"):
        command("kill", Selection(names=["x"]))


def test_without_hollow_nodes_there_is_nobody_to_command(runtime: Path) -> None:
    with pytest.raises(UsageError, match="no hollow nodes run here"):
        command("kill", Selection(random=1))


def test_of_several_one_must_be_named(runtime: Path) -> None:
    other = control_folder() / "hollow-nodes-other.sock"
    with controlled(None), controlled(other):
        with pytest.raises(UsageError, match=r"several processes.*hollow-nodes-other.sock"):
            command("kill", Selection(random=1))

        assert command("kill", Selection(names=["hollow-00000"]), other) == ["hollow-00000"]


def test_a_socket_left_behind_is_replaced_and_a_living_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))

    with controlled(path), pytest.raises(UsageError, match="--control"):
        HollowControl(HollowNodes.__new__(HollowNodes), path)


def test_a_folder_that_others_may_enter_is_refused(runtime: Path) -> None:
    (runtime / "controllers").mkdir(mode=0o755)

    with pytest.raises(UsageError, match="yours alone"):
        control_folder()


def test_a_path_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another path by --control"):
        HollowControl(HollowNodes.__new__(HollowNodes), tmp_path / ("x" * 200))
