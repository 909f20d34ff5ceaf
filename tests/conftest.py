# SPDX-License-Identifier: Apache-2.0
"""Fixtures and guards of every test."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from kit.between import is_between
from kit.source_package import import_from_source

from controller_runtime.testing.simulation import Simulation

pytest_plugins = ["controller_runtime.testing.pytest_plugin", "pytester"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what chooses the server of `tests/contract` and `tests/scenarios`."""
    group = parser.getgroup("a real API server")
    group.addoption(
        "--kubeconfig",
        metavar="FILE",
        type=Path,
        help="run tests/contract and tests/scenarios against this API server, in place of the embedded one; everything "
        "in it is deleted, so give one that has no nodes or pods",
    )
    group.addoption(
        "--audit-log",
        metavar="FILE",
        type=Path,
        help="where that server writes its audit log, for the tests that read it",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGINT end programs that tests start, though a background shell ignores it; import what the path hides."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    import_from_source("benchmarks")
    import_from_source("controllers")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what others run, and skip what only the embedded server can do where another one was chosen."""
    if is_between(os.environ, sys.version_info.minor, shutil.which):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("ends")])
        items[:] = [item for item in items if not item.get_closest_marker("ends")]
    if config.getoption("--kubeconfig") is None:
        return
    for item in items:
        marker = item.get_closest_marker("embedded")
        if marker is not None:
            item.add_marker(pytest.mark.skip(reason=f"not on a server of --kubeconfig: {marker.args[0]}"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector of cycles from the modules and tests, which stay to the end: it would walk them ever again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def outward() -> str:
    """Return an address of this machine that is not a loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent: this only asks for the way
        except OSError:
            pytest.skip("this machine has no address but its loopback one")
        name: str = probe.getsockname()[0]
        return name


@pytest.fixture(scope="session")
def chosen(pytestconfig: pytest.Config) -> Path | None:
    """The kubeconfig of the real API server that was chosen; None for the embedded one."""
    path: Path | None = pytestconfig.getoption("--kubeconfig")
    return None if path is None else path.resolve(strict=True)


# Slow machines are no defects: nothing here is judged by the clock.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")


_ENDING = 10.0
"""Seconds in which a thread whose work is done ends by itself: the longest pause of this kind is 0.1 s."""


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test() -> Iterator[None]:
    """Fails a test that starts a thread and does not end it; one that is about to end is waited for."""
    before = set(threading.enumerate())

    yield

    deadline = time.monotonic() + _ENDING
    for thread in set(threading.enumerate()) - before:
        thread.join(max(0.0, deadline - time.monotonic()))
    left = [thread.name for thread in threading.enumerate() if thread not in before and thread.is_alive()]
    assert not left, f"threads left running: {left}"


@pytest.fixture(autouse=True)
def no_thread_dies_unseen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An exception that leaves a thread fails the test that started it."""
    died: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: died.append(f"{args.thread}: {args.exc_value!r}"))

    yield

    assert not died, f"threads died: {died}"


@pytest.fixture(autouse=True)
def logging_is_left_as_it_was() -> Iterator[None]:
    """A command that ran in this process has set up logging, to a stream that is closed by now."""
    root = logging.getLogger()
    handlers, level, disabled = root.handlers[:], root.level, root.manager.disable

    yield

    root.handlers[:] = handlers
    root.setLevel(level)
    logging.disable(disabled)


@pytest.fixture
def sim(simulation: Simulation) -> Simulation:
    """A simulation with seed 0; tests that hunt for races walk over seeds of their own."""
    return simulation
