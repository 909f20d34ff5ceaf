# SPDX-License-Identifier: Apache-2.0
"""The processes of an operator end with it, whatever they are, and nothing of it is left, however the command ends."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apimachinery.errors import UsageError
from apimachinery.system import SystemHost
from controller_runtime.testing.perturbation.others.operator_process import OperatorProcess

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="descendants are found on Linux alone")

# Each process holds a named pipe open for writing, whose reader finds its end when all of them are gone.
HOLD = "import os, select; held = os.open({fifo!r}, os.O_WRONLY); os.set_inheritable(held, True)\n"
WAIT = "select.select([], [], [])\n"
CHILD = """
import subprocess, sys
subprocess.Popen([sys.executable, "-S", "-c", "import select; " + WAIT], start_new_session=True, close_fds=False)
"""
READY = "os.write(held, b'ready')\n"
COMMAND = """
import sys
from pathlib import Path
from apimachinery.system import SystemHost
from controller_runtime.testing.perturbation.others.operator_process import OperatorProcess
with OperatorProcess(SystemHost(), sys.argv[1:]) as operator:
    operator.start(operator.folder / "kubeconfig")
    print(operator.folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


def operator(fifo: Path, then: str) -> list[str]:
    """Return the command of an operator with a child in a session of its own."""
    code = HOLD.format(fifo=str(fifo)) + f"WAIT = {WAIT!r}\n" + CHILD + READY + then
    return [sys.executable, "-S", "-c", code]


def read(fifo: Path) -> tuple[bytes, int]:
    """Wait for an operator to be ready, and return what it wrote and the open pipe."""
    opened = os.open(fifo, os.O_RDONLY)
    return os.read(opened, 100), opened


@pytest.mark.parametrize("then", [pytest.param(WAIT, id="with its parent"), pytest.param("", id="as a daemon")])
def test_a_child_in_a_session_of_its_own_ends_with_the_operator(fifo: Path, then: str) -> None:
    with OperatorProcess(SystemHost(), operator(fifo, then)) as process:
        process.start(process.folder / "kubeconfig")
        ready, opened = read(fifo)
        process.kill()

        assert ready == b"ready"
        assert os.read(opened, 1) == b"", "its end comes once no process holds the pipe"
        assert process.left == []
    os.close(opened)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM], ids=lambda each: each.name)
def test_nothing_is_left_when_the_command_is_killed(fifo: Path, number: int) -> None:
    command = [sys.executable, "-c", COMMAND, *operator(fifo, WAIT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        ready, opened = read(fifo)
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert (ready, folder.is_dir()) == (b"ready", True)
        guardian = os.pidfd_open(int(folder.joinpath("guardian").read_text()))
        process.send_signal(number)
        process.communicate()

        assert os.read(opened, 1) == b""
        select.select([guardian], [], [])  # it has removed the folder before it ends
        assert not folder.exists()
    os.close(opened)
    os.close(guardian)


def test_an_end_by_itself_is_told_with_its_status_and_what_runs_on(fifo: Path) -> None:
    with OperatorProcess(SystemHost(), operator(fifo, "raise SystemExit(3)")) as process:
        process.start(process.folder / "kubeconfig")
        _, opened = read(fifo)
        while (look := process.look()).alive:
            pass

        assert look.end == (
            "the operator has ended by itself with exit status 3, and its other processes run on: "
            "give the command that runs it in the foreground"
        )
    os.close(opened)


def test_temporary_files_of_the_operator_go_with_the_run(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    code = f"import os, tempfile; path = tempfile.mkdtemp(); os.write(os.open({str(fifo)!r}, 1), path.encode())"
    with OperatorProcess(SystemHost(), [sys.executable, "-S", "-c", code]) as process:
        process.start(process.folder / "kubeconfig")
        made, opened = read(fifo)
        assert Path(made.decode()).parent == process.folder / "tmp"
    os.close(opened)

    assert not Path(made.decode()).exists()
    assert not process.folder.exists()


@pytest.mark.parametrize(
    ("code", "is_busy"), [("while :; do :; done", True), ("(while :; do :; done) & wait", True), ("sleep 60", False)]
)
def test_all_processes_of_an_operator_count_as_busy(code: str, is_busy: bool) -> None:
    with OperatorProcess(SystemHost(), ["sh", "-c", code]) as process:
        process.start(process.folder / "kubeconfig")
        while process.look().busy is not is_busy:  # it starts
            pass
        process.kill()

        assert not process.look().busy


def test_a_command_that_there_is_not_is_refused() -> None:
    with (
        OperatorProcess(SystemHost(), ["no-such-command"]) as process,
        pytest.raises(UsageError, match="cannot run no-such-command: No such file"),
    ):
        process.start(process.folder / "kubeconfig")
