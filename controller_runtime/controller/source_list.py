# SPDX-License-Identifier: Apache-2.0
"""The sources of one controller, each of which is attached once."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from apimachinery.errors import UsageError
from controller_runtime.api.collection import Collection
from controller_runtime.cache.informers import Informers
from controller_runtime.controller.sources import Follow, Intake, Source, Synced, Watch


class SourceList:
    """The sources from which the requests of a controller come, before and after it is started.

    Args:
        name: The controller's name.

    Threads: one until `attach` is called, then any.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._sources: list[Source] = []
        # The sources that do not feed the queue yet. `attach` and a late `add` may run at the same time: the thread
        # that takes a source out of here attaches it (a deque needs no lock for that), so each is attached once.
        self._unattached: deque[Source] = deque()
        self._intake: Intake | None = None

    def all(self) -> Sequence[Source]:
        """Return the sources in the order in which they were added."""
        return [*self._sources]

    def collections(self) -> Sequence[Collection]:
        """Return the collections that the sources watch or follow."""
        return [source.collection for source in self._sources if source.collection is not None]

    def inspected(self) -> Sequence[Collection]:
        """Return the `collections` of which a predicate, a mapper or a callback reads more than the keys of changed
        objects.
        """
        return [each.collection for each in self._sources if isinstance(each, Watch | Follow) and each.inspects]

    def prepare(self, informers: Informers) -> None:
        """Make the informers of the collections, so that their caches fill."""
        for source in self._sources:
            if isinstance(source, Watch | Follow):
                source.prepare(informers)

    def add(self, source: Source) -> None:
        """Add a source, and attach it if the controller has been started.

        Raises:
            UsageError: The controller is stopping or has stopped.
        """
        if self._intake is not None and self._intake.stop.is_set():
            raise UsageError(f"controller {self._name} stops or has stopped: it takes no more sources")
        self._sources.append(source)
        self._unattached.append(source)
        # This order matters, for `attach` sets `_intake` before it empties `_unattached`: a start that runs at the
        # same time is either seen here, or finds the source that was appended above. Both threads change the deque
        # between their two steps, and its operations are one after the other, with or without the GIL.
        if self._intake is not None:
            self._attach(self._intake)

    def attach(self, intake: Intake) -> list[tuple[Source, Synced]]:
        """Attach the sources that are not attached yet; return each with a function that waits for its initial list."""
        self._intake = intake
        return self._attach(intake)

    def _attach(self, intake: Intake) -> list[tuple[Source, Synced]]:
        attached: list[tuple[Source, Synced]] = []
        while True:
            try:
                source = self._unattached.popleft()
            except IndexError:
                return attached
            attached.append((source, source.attach(intake)))
