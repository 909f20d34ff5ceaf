# SPDX-License-Identifier: Apache-2.0
"""The queue in which the nodes of one zone wait for their eviction, and the pace at which it moves."""

from __future__ import annotations

_ROUNDING = 1e-6
"""How much of one turn may be missing because of rounding when sums of seconds are compared."""


class Turns:
    """The queue of the nodes of one zone that wait for a turn, which is the permission to evict one node's pods.

    Turns come from a token bucket that holds at most one.

    The bucket fills at `rate` turns per second. It keeps its level when the rate changes, and does not fill while the
    rate is zero.

    Only for the first node in the queue, `ask` returns when to ask again; the other nodes wait until they are woken.
    Each method that removes a node from the queue or changes its rate returns the nodes to wake: the caller must
    reconcile them soon, so that `ask` is called for each. Otherwise the queue stops. After `clear` the caller must wake
    all nodes that still need a turn.

    A node keeps its turn until it leaves, so a failed write is tried again without a second turn.

    Threads: its owner's lock.

    Args:
        rate: Nodes per second.
        now: The time in monotonic seconds.
        is_full: Whether the first node gets its turn at once.

    Attributes:
        given: Number of turns that were taken and not given back.
    """

    def __init__(self, rate: float, now: float, *, is_full: bool = True) -> None:
        self._rate = rate
        self._level = 1.0 if is_full else 0.0  # at `_at`
        self._at = now
        self.given = 0
        # The queue; dicts keep the order of arrival.
        self._waiting: dict[str, None] = {}
        # Nodes with a turn, and whether the write that it was given for may have been sent: such a turn is used up.
        self._granted: dict[str, bool] = {}

    @property
    def rate(self) -> float:
        """The number of nodes per second whose eviction may begin."""
        return self._rate

    @property
    def waiting(self) -> list[str]:
        """The nodes that wait for permission to be evicted, in order of arrival."""
        return [*self._waiting]

    @property
    def _first(self) -> list[str]:
        """A list that holds only the first node of the queue; an empty list if no node waits."""
        return [name] if (name := next(iter(self._waiting), None)) is not None else []

    def set_rate(self, rate: float, now: float) -> list[str]:
        """Change the rate, and return the nodes to wake."""
        if rate == self._rate:
            return []
        self._level, self._at, self._rate = self._level_at(now), now, rate
        return [*self._granted, *self._first]

    def empty_if_full(self, now: float) -> None:
        """Empty the bucket if it is full; a partly full one keeps its level."""
        if self._missing(now) == 0.0:
            self._level, self._at = 0.0, now

    def clear(self, now: float) -> None:
        """Remove all nodes, and start again with an empty bucket."""
        self._waiting.clear()
        self._granted.clear()
        self._level, self._at = 0.0, now

    def ask(self, name: str, now: float) -> float | None:
        """Put a node at the end of the queue, unless it is in the queue or has a turn; return when it gets its turn.

        Returns:
            Zero if the node can `take` its turn now; otherwise the seconds after which to ask again, or None if a later
            call of another method returns the node as one to wake.
        """
        if name not in self._granted:
            self._waiting.setdefault(name)
        if not self._rate:
            return None
        if name in self._granted:
            return 0.0
        return self._missing(now) / self._rate if [name] == self._first else None

    def take(self, name: str, now: float) -> list[str]:
        """Take the permission that `ask` offered, unless the node has one, and return the nodes to wake."""
        if name in self._granted:
            return []
        self._level, self._at = self._level_at(now) - 1.0, now
        self._waiting.pop(name, None)
        self._granted[name] = False
        self.given += 1
        return self._first

    def give_back(self, name: str, now: float) -> list[str]:
        """Remove a node that must not use its turn, and return the nodes to wake.

        The next node can have the turn at once, unless the eviction of this node may have happened.
        """
        is_unused = self._granted.get(name) is False
        woken = self.leave(name)
        if not is_unused:
            return woken
        self._level, self._at = min(1.0, self._level_at(now) + 1.0), now
        self.given -= 1
        return self._first

    def step_aside(self, name: str) -> list[str]:
        """Let the other nodes go first, because a reconcile of this node failed; return the nodes to wake.

        When the node asks again, it enters the queue at its end. If it has a turn already, it keeps the turn.
        """
        if name in self._granted:
            self._granted[name] = True
            return []
        return self.leave(name)

    def leave(self, name: str) -> list[str]:
        """Remove a node that needs no permission to be evicted or has used it, and return the nodes to wake."""
        was_first = [name] == self._first
        self._waiting.pop(name, None)
        self._granted.pop(name, None)
        return self._first if was_first else []

    def _missing(self, now: float) -> float:
        missing = 1.0 - self._level_at(now)
        return missing if missing > _ROUNDING else 0.0

    def _level_at(self, now: float) -> float:
        return min(1.0, self._level + (now - self._at) * self._rate)
