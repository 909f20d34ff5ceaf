# SPDX-License-Identifier: Apache-2.0
"""Fixtures and guards of every test."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import hypothesis
import pytest

from controller_runtime.testing.simulation import Simulation

pytest_plugins = ["controller_runtime.testing.pytest_plugin"]

# Slow machines are no defects: nothing here is judged by the clock.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test() -> Iterator[None]:
    """Whoever starts a thread ends it."""
    before = set(threading.enumerate())

    yield

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
    handlers, level = root.handlers[:], root.level

    yield

    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def sim(simulation: Simulation) -> Simulation:
    """A simulation with seed 0; tests that hunt for races walk over seeds of their own."""
    return simulation
