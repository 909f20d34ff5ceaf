# SPDX-License-Identifier: Apache-2.0
"""Waits for a condition in real time: the condition is checked after each change of a collection, without a sleep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from apimachinery.host import Host
from apimachinery.plain_functions import synchronous
from controller_runtime.api.resources import Kind
from controller_runtime.cache.store import Delta
from controller_runtime.manager.manager import Manager

V = TypeVar("V")


def eventually(
    manager: Manager, resource: Kind[Any], check: Callable[[], V], *, namespace: str = "", timeout: float = 10.0
) -> V:
    """Call `check` until it returns a true value: once a collection's initial list is complete, and after every change
    of it.

    No polling interval has to be guessed, and no change between two calls is missed.
    In a simulation, use `Simulation.settle`.

    Args:
        manager: The running manager, which watches the collection.
        resource: The collection whose changes can make the value true.
        check: Reads the state from a lister or with the client, and returns a value. Its errors end the wait.
        namespace: The namespace to watch; empty for all.
        timeout: Seconds until the wait fails.

    Returns:
        The true value.

    Raises:
        AssertionError: The value did not become true in time.
        UsageError: `check` is an `async def`, or returned a coroutine.
    """
    current = synchronous("eventually", check)
    deadline = manager.host.monotonic() + timeout
    changes = _Changes(manager.host)
    informer = manager.informer(resource, namespace=namespace)
    registration = informer.add_handler(changes.note)
    try:
        registration.wait_for_sync(manager.stopping, deadline)
        while True:
            seen = changes.count
            answer = current()
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
        # Guards the count; `wait_for_more` waits on it.
        self._condition = host.condition("eventually")
        self.count = 0

    def note(self, delta: Delta) -> None:
        with self._condition:
            self.count += 1
            self._condition.notify_all()

    def wait_for_more(self, than: int, deadline: float) -> bool:
        """Wait until there are more changes than `than` or until `deadline`, and return whether there are more."""
        with self._condition:
            while self.count == than and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
            return self.count > than
