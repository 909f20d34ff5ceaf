# SPDX-License-Identifier: Apache-2.0
"""A watch that leaves out one change, as no correct server does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apimachinery.http import Watch
from embedded_apiserver.perturbation.lines import version_of


class Drop:
    """Leaves one change out of the watches of a resource.

    Args:
        resource: The resource.

    Attributes:
        resource: The resource.
        version: The resourceVersion of the change to leave out. It is set once, before the server announces the change.
    """

    def __init__(self, resource: str, version: int) -> None:
        self.resource = resource
        self.version = version

    def over(self, watch: Watch, on_ready: Callable[[], None]) -> Watch:
        """Return a watch that leaves out the change."""
        return DroppingWatch(watch, lambda: self.version)


class DroppingWatch:
    """A watch that leaves out the change with one resourceVersion; an `api.http.Watch`.

    Args:
        inner: The watch of the server.
        version: A function that returns the resourceVersion of the change to leave out.
    """

    def __init__(self, inner: Watch, version: Callable[[], int]) -> None:
        self.headers: Mapping[str, str] = inner.headers
        self._inner = inner
        self._version = version

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return the next lines without that of the change, and True if the watch ends after them."""
        while True:
            lines, is_over = self._inner.take(limit)
            kept = [line for line in lines if version_of(line) != self._version()]
            if kept or is_over or not lines:  # a short answer would say that there is no more for now
                return kept, is_over

    def next_wake(self) -> float | None:
        """Return the seconds until the server's watch has to be read even without a change."""
        return self._inner.next_wake()

    def close(self) -> None:
        """End the watch. Idempotent."""
        self._inner.close()
