# SPDX-License-Identifier: Apache-2.0
"""A process that gets signals stops, ends at once, or reports on its threads."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

PROGRAM = """
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.program.signals import handled_signals

host = SystemHost()
stop = Stop(host)
with handled_signals(host, stop) as signals:
    signals.report = lambda: "the report"
    print("ready", flush=True)
    stop.wait_until(None)
    print("asked to stop", flush=True)
    if {stays}:
        Stop(host).wait_until(None)
"""


def start(*, stays: bool) -> subprocess.Popen[str]:
    default = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # the tests may run under nohup
    return subprocess.Popen(
        [sys.executable, "-c", default + PROGRAM.format(stays=stays)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    with start(stays=getattr(request, "param", False)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.mark.scenario("MG-15")
@pytest.mark.parametrize("program", [True], ids=["does not end"], indirect=True)
def test_the_second_signal_ends_the_process_at_once(program: subprocess.Popen[str]) -> None:
    """A program that does not stop at the first signal ends with status 1 at the second."""
    assert program.stdout is not None
    program.send_signal(signal.SIGTERM)
    assert program.stdout.readline() == "asked to stop\n"

    program.send_signal(signal.SIGINT)
    _, stderr = program.communicate()

    assert program.returncode == 1
    assert "asked to stop twice: ending at once" in stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_asks_to_stop(program: subprocess.Popen[str], number: signal.Signals) -> None:
    program.send_signal(number)
    program.communicate()

    assert program.returncode == 0


@pytest.mark.parametrize("program", [True], ids=["does not end"], indirect=True)
def test_a_closed_terminal_does_not_insist(program: subprocess.Popen[str]) -> None:
    assert program.stdout is not None
    program.send_signal(signal.SIGHUP)
    assert program.stdout.readline() == "asked to stop\n"

    program.send_signal(signal.SIGHUP)
    program.send_signal(signal.SIGUSR1)

    assert program.stderr is not None
    assert "the report\n" in iter(program.stderr.readline, "")
    assert program.poll() is None


def test_under_nohup_a_closed_terminal_is_not_heeded() -> None:
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    command = [sys.executable, "-c", ignoring + PROGRAM.format(stays=False)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)

        assert process.stdout.read() == "asked to stop\n"
        assert process.wait() == 0


def test_sigusr1_shows_every_thread_and_the_report_and_the_program_goes_on(program: subprocess.Popen[str]) -> None:
    assert program.stderr is not None
    program.send_signal(signal.SIGUSR1)
    shown = "".join(iter(program.stderr.readline, "the report\n"))
    program.send_signal(signal.SIGTERM)
    program.communicate()

    assert shown.startswith("MainThread\n  File ")
    assert "\nsignals\n  File " in shown
    assert program.returncode == 0
