# SPDX-License-Identifier: Apache-2.0
"""The part of a manager to which programs add tables for the status page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from apimachinery.plain_functions import synchronous
from controller_runtime.manager.page.tables import StatusTable

TakeTables: TypeAlias = "Callable[[], Iterable[StatusTable]]"
"""Returns tables of a program's own, of its present state."""


class ShownTables:
    """The part of a manager that knows what else its status page shows; a base of `Manager`.

    Threads: any.
    """

    shown_tables: tuple[TakeTables, ...] = ()
    """The functions that `show_status` was given."""

    def show_status(self, take: TakeTables) -> None:
        """Add tables to the status page.

        Args:
            take: Returns the tables. It is called about once per second for each reader, on the thread that serves the
                page, and never while nobody looks. So it must be quick, and may read only what is safe to read from
                other threads. If it raises, the page shows the error in the place of the tables.

        Raises:
            UsageError: `take` is an `async def`.
        """
        self.shown_tables = (*self.shown_tables, synchronous("show_status", take))
