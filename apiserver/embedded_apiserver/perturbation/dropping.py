# SPDX-License-Identifier: Apache-2.0
"""A watch that goes on without one change, which no lawful server would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apimachinery.http import Watch
from embedded_apiserver.perturbation.lines import version_of


class Drop:
    """Leaves one change out of the watches of a resource.

    Args:
        resource: The resource.

    Attributes:
        resource: As given.
        version: The resourceVersion of the change that is left out; it is set once, before that change is announced.
    """

    def __init__(self, resource: str, version: int) -> None:
        self.resource = resource
        self.version = version

    def over(self, watch: Watch, on_ready: Callable[[], None]) -> Watch:
        """Return a watch without the change."""
        return DroppingWatch(watch, lambda: self.version)


class DroppingWatch:
    """A watch without the lines of one version; an `api.http.Watch`.

    Args:
        inner: The server's watch.
        version: Returns the resourceVersion of the change that is left out.
    """

    def __init__(self, inner: Watch, version: Callable[[], int]) -> None:
        self.headers: Mapping[str, str] = inner.headers
        self._inner = inner
        self._version = version

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return the next lines but those of the version, and whether the stream is over."""
        while True:
            lines, is_over = self._inner.take(limit)
            kept = [line for line in lines if version_of(line) != self._version()]
            if kept or is_over or not lines:  # a short answer would say that there is no more for now
                return kept, is_over

    def next_wake(self) -> float | None:
        """Return the seconds until the server's watch has something to do."""
        return self._inner.next_wake()

    def close(self) -> None:
        """End the watch. Idempotent."""
        self._inner.close()
