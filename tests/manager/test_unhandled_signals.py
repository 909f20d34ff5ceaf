# SPDX-License-Identifier: Apache-2.0
"""`Manager.run` without a stop ends in order at a signal, unless other code handles that signal."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apimachinery.stop import Stop
from controller_runtime import Client, ObjectKey, SystemHost
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.manager.unhandled_signals import stop_on_unhandled_signals, unhandled
from controller_runtime.resources import LEASES
from controller_runtime.testing import APIServerProcess
from controller_runtime.testing.simulation import Simulation

PROGRAM = """
import signal, sys
from controller_runtime import Controller, LeaderElectionConfig, Manager, Reconciler, Request, Result, Stop
from controller_runtime.resources import NODES

class Shown(Reconciler):
    def reconcile(self, request):
        print("leads", flush=True)
        {work}
        return Result()

election = LeaderElectionConfig(name="shown", namespace="default")
manager = Manager.from_kubeconfig(sys.argv[1], leader_election=election, grace=3600.0)
manager.add(Controller("shown", Shown()).every(3600.0, lambda: [Request("all")]))
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
manager.run({arguments})
print("ended", before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)])
"""
LEASE = ObjectKey("shown", "default")
WORKING = "Stop(manager.host).wait_until(None)"


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with APIServerProcess(SystemHost()) as server:
        yield server.kubeconfig


def leading(kubeconfig: Path, *, work: str = "pass", arguments: str = "") -> subprocess.Popen[str]:
    """Start a program whose manager leads when this returns."""
    program = PROGRAM.format(work=work, arguments=arguments)
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(kubeconfig)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "leads\n"
    return process


@contextlib.contextmanager
def client_of(kubeconfig: Path) -> Iterator[Client]:
    host = SystemHost()
    with contextlib.closing(HTTPTransport(host, from_kubeconfig(kubeconfig))) as transport:
        yield Client(host, transport)


def holder(kubeconfig: Path) -> str:
    with client_of(kubeconfig) as client:
        lease: dict[str, Any] = client.get(LEASES, LEASE, dict)
    return lease["spec"].get("holderIdentity") or ""


def abandon(kubeconfig: Path) -> None:
    """Delete the lease of a program that was killed, so that the next one need not wait."""
    with client_of(kubeconfig) as client:
        client.delete(LEASES, LEASE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
def test_a_signal_ends_a_run_in_order_and_the_lease_is_given_back(kubeconfig: Path, number: signal.Signals) -> None:
    with leading(kubeconfig) as process:
        held = holder(kubeconfig)

        process.send_signal(number)
        stdout, stderr = process.communicate()

    assert held
    assert holder(kubeconfig) == ""
    assert (process.returncode, stdout, stderr) == (0, "ended True\n", "")


def test_a_second_signal_ends_a_run_at_once(kubeconfig: Path) -> None:
    with leading(kubeconfig, work=WORKING) as process:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()

    assert process.returncode == 1
    assert stderr == "asked to stop twice: ending at once\n"
    abandon(kubeconfig)


@pytest.mark.parametrize("arguments", ["signals=False", "Stop(manager.host)"], ids=["declined", "a stop is given"])
def test_a_run_that_was_told_so_leaves_signals_alone(kubeconfig: Path, arguments: str) -> None:
    with leading(kubeconfig, arguments=arguments) as process:
        process.send_signal(signal.SIGTERM)
        process.communicate()

    assert process.returncode == -signal.SIGTERM
    abandon(kubeconfig)


def test_signals_that_are_handled_or_ignored_are_left_alone() -> None:
    def handler(number: int, frame: object) -> None:
        raise AssertionError

    initial = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}

    assert unhandled(initial) == [signal.SIGINT, signal.SIGTERM]
    assert unhandled({**initial, signal.SIGINT: handler}) == [signal.SIGTERM]
    assert unhandled({**initial, signal.SIGTERM: signal.SIG_IGN}) == [signal.SIGINT]
    assert unhandled({signal.SIGINT: signal.SIG_DFL, signal.SIGTERM: handler}) == []


def test_a_simulated_host_installs_nothing(sim: Simulation) -> None:
    host, before = sim.host("here"), signal.getsignal(signal.SIGTERM)

    with stop_on_unhandled_signals(host, Stop(host)):
        assert signal.getsignal(signal.SIGTERM) == before


def test_another_thread_than_the_main_one_installs_nothing() -> None:
    host, seen = SystemHost(), []

    def look() -> None:
        with stop_on_unhandled_signals(host, Stop(host)):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert seen == [signal.getsignal(signal.SIGTERM)]
