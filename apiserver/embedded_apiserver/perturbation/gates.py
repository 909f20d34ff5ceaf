# SPDX-License-Identifier: Apache-2.0
"""Watches that stand still from one change on, and then go on or end with 410."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apimachinery.http import Watch
from embedded_apiserver.perturbation.lines import expired_like, version_of


class Gate:
    """Holds the watches of one resource.

    Args:
        resource: The resource.
        version: The resourceVersion of the first change that is held.

    Attributes:
        resource: As given.
        version: As given.
        is_open: True once the watches go on.
        expires: True if they end with 410 then, so that their readers list again.

    Threads: any. A change that lands while the gate opens may pass it.
    """

    def __init__(self, resource: str, version: int) -> None:
        self.resource = resource
        self.version = version
        self.is_open = False
        self.expires = False
        self._waiting: dict[HeldWatch, None] = {}

    @property
    def holds(self) -> bool:
        """True if a change waits here for a watch."""
        return any(watch.has_lines for watch in [*self._waiting])

    def over(self, watch: Watch, on_ready: Callable[[], None]) -> Watch:
        """Return a watch that stands still here; the watch itself once the gate is open."""
        return watch if self.is_open else HeldWatch(watch, self, on_ready)

    def enter(self, watch: HeldWatch) -> None:
        """Remember a watch that stands still."""
        self._waiting[watch] = None

    def leave(self, watch: HeldWatch) -> None:
        """Forget a watch that has ended. Idempotent."""
        self._waiting.pop(watch, None)

    def open(self, *, expires: bool = False) -> None:
        """Let the watches go on, or end with 410. Idempotent."""
        if not self.is_open:
            self.expires, self.is_open = expires, True  # in this order, for watches read it in the other one
            for watch in [*self._waiting]:
                watch.wake()


class HeldWatch:
    """A watch that passes through a gate; an `api.http.Watch`.

    Args:
        inner: The server's watch.
        gate: The gate.
        on_ready: Called when there may be lines.
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
        """True if lines are held."""
        return bool(self._held)

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return the next lines before the gate's version, and whether the stream is over."""
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
        """Return the seconds until `take` has something to do; None while the gate is closed to this watch."""
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
