# SPDX-License-Identifier: Apache-2.0
"""The controllers and runnables of a manager, and the wake-up of the thread that starts them."""

from __future__ import annotations

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.plain_functions import plain
from apimachinery.stop import Stop
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.lifecycle import Runnable

Member = Controller | Runnable


class Members:
    """The controllers and runnables of a manager, with those that are still to be started.

    The manager's thread takes and starts them. It waits for one of three events: a member was added, this replica
    became the leader, or the manager is stopping.

    Args:
        host: Creates the lock's condition.
        stopping: The manager's stop: once it is set, nothing can be added.

    Threads: the manager's for `take_added` and `wait_for_news`; any for the rest.
    """

    def __init__(self, host: Host, stopping: Stop) -> None:
        self._stopping = stopping
        # Guards the fields below; `wait_for_news` waits on it.
        self._condition = host.condition("manager")
        self._has_run = False
        self._members: list[Member] = []
        # Those of them that `take_added` has not returned yet.
        self._added: list[Member] = []
        self._has_news = False

    def all(self) -> list[Member]:
        """Return all members, started or not, in the order in which they were added."""
        with self._condition:
            return [*self._members]

    def begin(self) -> None:
        """Record that the manager runs.

        Raises:
            UsageError: The manager has run before.
        """
        with self._condition:
            if self._has_run:
                raise UsageError("a manager runs once, and this one has been run")
            self._has_run = True

    def add(self, member: Member) -> None:
        """Add a member, and wake the manager's thread.

        Raises:
            UsageError: The name is taken, the manager is stopping or has stopped, or `member.run` is an `async def`.
        """
        plain(f"{member.name}: run", getattr(member, "run", None))
        with self._condition:
            if self._stopping.is_set():
                raise UsageError(f"{member.name} cannot be added: the manager stops or has stopped")
            if any(member.name == other.name for other in self._members):
                raise UsageError(f"{member.name} cannot be added: the name is taken")
            self._members.append(member)
            self._added.append(member)
        self.wake()

    def wake(self) -> None:
        """Wake the manager's thread. Call this when this replica begins to lead or the manager begins to stop."""
        with self._condition:
            self._has_news = True
            self._condition.notify_all()

    def take_added(self) -> list[Member]:
        """Return the members that were added since the last call, and reset the event of `wait_for_news`."""
        with self._condition:
            taken, self._added, self._has_news = self._added, [], False
            return taken

    def wait_for_news(self) -> None:
        """Wait until `wake` has been called since the last `take_added`."""
        with self._condition:
            while not self._has_news:
                self._condition.wait_until(None)
