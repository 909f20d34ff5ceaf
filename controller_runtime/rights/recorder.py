# SPDX-License-Identifier: Apache-2.0
"""Records what managers ask, until it is taken as accesses."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator

from apimachinery.http import HTTPRequest
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.rights import observing
from controller_runtime.rights.access import Access
from controller_runtime.rights.asked import AskedAccess, Blocked, asked_by, blocked_by
from controller_runtime.rights.program import accesses, program_of


class Recorder:
    """Records the rights that the requests of managers need.

    Threads: any, for the managers' requests; one for the rest.
    """

    def __init__(self) -> None:
        # A deque needs no lock: one thread takes from its left what others add at its right.
        self._noted: deque[tuple[Manager, AskedAccess | Blocked]] = deque()

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Return a context manager: the managers that are made inside its block are recorded."""
        with observing(self._observe):
            yield

    def _observe(self, manager: Manager) -> Callable[[HTTPRequest], None]:
        seen: set[AskedAccess | Blocked] = set()  # so that a manager that runs for long is not kept request by request

        def note(request: HTTPRequest) -> None:
            found: list[AskedAccess | Blocked] = [*asked_by(request), *blocked_by(request)]
            for each in found:
                if each not in seen:
                    seen.add(each)
                    self._noted.append((manager, each))

        return note

    def take(self) -> set[Access]:
        """Return the accesses that managers needed for new kinds of requests since the last call."""
        asked: dict[Manager, list[AskedAccess]] = {}
        blocked: dict[Manager, list[Blocked]] = {}
        while self._noted:
            manager, each = self._noted.popleft()
            if isinstance(each, AskedAccess):
                asked.setdefault(manager, []).append(each)
            else:
                blocked.setdefault(manager, []).append(each)
        return {
            access
            for manager in {**asked, **blocked}
            for access in accesses(program_of(manager), asked.get(manager, ()), blocked.get(manager, ()))
        }
