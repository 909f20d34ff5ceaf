# SPDX-License-Identifier: Apache-2.0
"""Watches that are stalled from one change on, and then continue or end with 410."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apimachinery.http import Watch
from embedded_apiserver.perturbation.lines import expired_like, version_of


class Gate:
    """Stalls the watches of one resource from a change on, until it is opened.

    Args:
        resource: The resource.
        version: The resourceVersion of the first change that watches do not get.

    Attributes:
        resource: The resource.
        version: The resourceVersion of that change.
        is_open: True once the gate has been opened.
        expires: True if stalled watches end with 410 when the gate is opened, so that their clients list again.

    Threads: any. A change that is written while the gate is being opened may or may not be delayed.
    """

    def __init__(self, resource: str, version: int) -> None:
        self.resource = resource
        self.version = version
        self.is_open = False
        self.expires = False
        self._waiting: dict[HeldWatch, None] = {}

    @property
    def holds(self) -> bool:
        """True if a stalled watch has a change to send."""
        return any(watch.has_lines for watch in [*self._waiting])

    def over(self, watch: Watch, on_ready: Callable[[], None]) -> Watch:
        """Return a watch that is stalled until `open` is called; `watch` itself if it was called already."""
        return watch if self.is_open else HeldWatch(watch, self, on_ready)

    def enter(self, watch: HeldWatch) -> None:
        """Add a watch that is stalled from now on; `open` lets it continue."""
        self._waiting[watch] = None

    def leave(self, watch: HeldWatch) -> None:
        """Remove a watch that has ended. Idempotent."""
        self._waiting.pop(watch, None)

    def open(self, *, expires: bool = False) -> None:
        """Let the stalled watches continue, or with `expires` end with 410. Idempotent."""
        if not self.is_open:
            self.expires, self.is_open = expires, True  # in this order, for watches read it in the other one
            for watch in [*self._waiting]:
                watch.wake()


class HeldWatch:
    """A watch that a gate can stall; an `api.http.Watch`.

    Args:
        inner: The watch of the server.
        gate: The gate.
        on_ready: A function that is called when there may be lines.
    """

    def __init__(self, inner: Watch, gate: Gate, on_ready: Callable[[], None]) -> None:
        self.headers: Mapping[str, str] = inner.headers
        self.wake = on_ready
        self._inner = inner
        self._gate = gate
        self._held: list[bytes] = []
        self._is_late = False

    @property
    def has_lines(self) -> bool:
        """True if lines are being held back."""
        return bool(self._held)

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return the next lines, and True if the watch ends after them.

        While the gate is closed, lines from `Gate.version` on are held back; once it is open, they come first.

        Args:
            limit: The most lines to return, apart from those that were held back.
        """
        gate = self._gate
        if gate.is_open:
            gate.leave(self)
            if gate.expires and self._is_late:
                self._inner.close()
                return [expired_like(self._held[0])], True
            held, self._held = self._held, []
            if held:
                return held, False
            return self._inner.take(limit)
        taken = self._take_until_held(limit)
        if self._is_late and self._gate.is_open:  # it was opened meanwhile, perhaps before this watch was known to it
            self.wake()
        return taken

    def next_wake(self) -> float | None:
        """Return the seconds until `take` must be called even without a change; None while the watch is stalled."""
        if self._is_late and not self._gate.is_open:
            return None
        return self._inner.next_wake()

    def close(self) -> None:
        """End the watch. Idempotent."""
        self._gate.leave(self)
        self._inner.close()

    def _take_until_held(self, limit: int) -> tuple[list[bytes], bool]:
        passed: list[bytes] = []
        while len(passed) < limit:
            lines, is_over = self._inner.take(1)
            for line in lines:
                if self._is_late or version_of(line) >= self._gate.version:
                    self._is_late = True
                    self._gate.enter(self)
                    self._held.append(line)
                else:
                    passed.append(line)
            if is_over and not self._is_late:
                return passed, True
            if not lines or is_over:
                break
        return passed, False
