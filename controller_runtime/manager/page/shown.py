# SPDX-License-Identifier: Apache-2.0
"""The tables that a program adds to the status page of its manager."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apimachinery.plain_functions import synchronous
from controller_runtime.manager.page.tables import StatusTable

TakeTables = Callable[[], Iterable[StatusTable]]
"""Returns tables that a program adds to the status page, with its current state."""


class ShownTables:
    """The functions by which a program adds tables to the status page, in the order in which they were added.

    Threads: any.
    """

    def __init__(self) -> None:
        self._takes: tuple[TakeTables, ...] = ()  # replaced as a whole

    def add(self, take: TakeTables) -> None:
        """Add a function; see `Manager.show_status`."""
        self._takes = (*self._takes, synchronous("show_status", take))

    def all(self) -> tuple[TakeTables, ...]:
        """Return all functions that were added."""
        return self._takes
