# SPDX-License-Identifier: Apache-2.0
"""A process whose threads do not end: it ends after its grace, with a status and the stacks."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from kit.processes.processes import read_until, running
from kit.processes.programs import clean_environment

pytestmark = [pytest.mark.ends, pytest.mark.embedded("the programs start servers of their own")]

PROGRAM = """
import sys, threading, time

from controller_runtime import Controller, Manager, Reconciler, Request, Result, run
from controller_runtime.resources import NAMESPACES


blocked = threading.Event()


def blocks() -> None:
    blocked.set()
    print("it blocks", file=sys.stderr, flush=True)
    time.sleep(3600)


class Blocks(Reconciler):
    def reconcile(self, request: Request) -> Result:
        blocks()
        return Result()


class Fails:
    name = "fails"

    def run(self, stop) -> None:
        blocked.wait()
        raise ValueError("a bug of the user")


def setup(manager: Manager) -> None:
    {setup}


if __name__ == "__main__":
    run(setup)
"""
RECONCILE = 'manager.add(Controller("thing", Blocks()).watch(NAMESPACES))'
THREAD = 'threading.Thread(target=blocks, name="mine").start()'
BOTH = f"""{RECONCILE}
    manager.add(Fails())"""
LATE = "still running after a grace of 0.1 s, though cancelled: thing/worker-0"


def ended(tmp_path: Path, setup: str, number: signal.Signals | None) -> tuple[int, str]:
    """Return status and standard error of a program that gets one signal, or fails, once a thread of it blocks."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.replace("{setup}", setup))
    command = [sys.executable, str(script), "--embedded", "--grace", "0.1"]
    with running(command, cwd=tmp_path, env=clean_environment()) as process:
        read_until(process, "it blocks")
        if number is not None:
            process.send_signal(number)
        _, rest = process.communicate()  # the test's timeout bounds the wait
    return process.returncode, rest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
def test_a_reconcile_that_blocks_is_named_with_its_stack_and_the_process_ends(
    tmp_path: Path, number: signal.Signals
) -> None:
    status, rest = ended(tmp_path, RECONCILE, number)

    assert status == 1
    assert f"program: {LATE}\n" in rest
    assert "thing/worker-0 stands at\n" in rest
    assert "ending, though threads still run" not in rest  # its grace is over already
    assert "time.sleep(3600)\n" in rest


def test_a_thread_of_the_users_own_is_named_with_its_stack_and_the_process_ends(tmp_path: Path) -> None:
    status, rest = ended(tmp_path, THREAD, signal.SIGTERM)

    assert status == 1
    assert "ending, though threads still run 5 s after the program: mine\n" in rest
    assert "time.sleep(3600)\n" in rest


def test_a_bug_beside_a_thread_that_blocks_is_told_and_the_process_ends(tmp_path: Path) -> None:
    status, rest = ended(tmp_path, BOTH, None)

    assert status == 1
    assert "ValueError: a bug of the user\n" in rest
    assert LATE in rest
    assert "time.sleep(3600)\n" in rest
