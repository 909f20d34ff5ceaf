# SPDX-License-Identifier: Apache-2.0
"""Waiting for what happens by itself, where time is real: from change to change, without a sleep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from controller_runtime.api.resources import Resource
from controller_runtime.cache.store import Delta
from controller_runtime.core.host import Host
from controller_runtime.manager.manager import Manager

V = TypeVar("V")


def eventually(
    manager: Manager, resource: Resource[Any], check: Callable[[], V], *, namespace: str = "", timeout: float = 10.0
) -> V:
    """Ask `check` once a collection's initial list is in, and after every change of it, until its answer is true.

    It needs no guess of how often to look, and no change between two looks is missed.
    Where time is simulated, `Simulation.settle` says more.

    Args:
        manager: Watches the collection; it must be running.
        resource: The collection whose changes can make the answer true.
        check: Reads the state, from a lister or by the client. What it raises is raised.
        namespace: Only this one; empty is all of them.
        timeout: Seconds that it may take.

    Returns:
        The answer.

    Raises:
        AssertionError: It did not become true in time.
    """
    deadline = manager.host.monotonic() + timeout
    changes = _Changes(manager.host)
    informer = manager.informer(resource, namespace=namespace)
    registration = informer.add_handler(changes.note)
    try:
        registration.wait_for_sync(manager.stopping, deadline)
        while True:
            seen = changes.count
            answer = check()
            if answer:
                return answer
            if not changes.wait_for_more(seen, deadline):
                trouble = f"; {informer}: {informer.last_error}" if informer.last_error else ""
                raise AssertionError(f"after {timeout:g} s and {seen} changes of {informer}: still {answer!r}{trouble}")
    finally:
        registration.remove()


class _Changes:
    """Counts changes. Threads: any."""

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the count.
        self._condition = host.condition("eventually")
        self.count = 0

    def note(self, delta: Delta) -> None:
        with self._condition:
            self.count += 1
            self._condition.notify_all()

    def wait_for_more(self, than: int, deadline: float) -> bool:
        """Whether there are more by `deadline`."""
        with self._condition:
            while self.count == than and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
            return self.count > than
