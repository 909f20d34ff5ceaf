# SPDX-License-Identifier: Apache-2.0
"""The line in which the nodes of one zone wait for their eviction, and the pace at which it moves."""

from __future__ import annotations

_ROUNDING = 1e-6
"""How far a sum of seconds may be off, as a part of one turn."""


class Turns:
    """A bucket that holds one turn at most, and the line of the nodes that wait for it: first come, first served.

    The bucket fills at `rate` turns a second. It keeps its level when the rate changes, and stands still
    while the rate is zero, so a state that lasts a moment costs a moment.

    Only the first node of the line has a time. All others wait until they are told, so nothing has to be
    recomputed when a node leaves the middle of the line. Each method that changes the line or its pace returns
    the nodes to tell: those that should ask again now. The caller tells them; otherwise the line stops.

    A node that got a turn has it until it leaves, so a failed write is tried again without a second turn.

    Threads: its owner's lock.

    Args:
        rate: Nodes a second.
        now: Monotonic seconds.
        is_full: Whether the first node may have its turn at once.

    Attributes:
        given: Number of turns that were given and not given back.
    """

    def __init__(self, rate: float, now: float, *, is_full: bool = True) -> None:
        self._rate = rate
        self._level = 1.0 if is_full else 0.0  # at `_at`
        self._at = now
        self.given = 0
        # Dicts keep the order in which the nodes came.
        self._waiting: dict[str, None] = {}
        # Whether the write that the turn was given for may have been sent.
        self._granted: dict[str, bool] = {}

    @property
    def rate(self) -> float:
        """Nodes a second."""
        return self._rate

    @property
    def waiting(self) -> list[str]:
        """The nodes that wait, in their order."""
        return [*self._waiting]

    @property
    def _first(self) -> list[str]:
        """The node that is next, if one waits."""
        return [name] if (name := next(iter(self._waiting), None)) is not None else []

    def set_rate(self, rate: float, now: float) -> list[str]:
        """Go on at another rate; the nodes to tell."""
        if rate == self._rate:
            return []
        self._level, self._at, self._rate = self._level_at(now), now, rate
        return [*self._granted, *self._first]

    def empty_if_full(self, now: float) -> None:
        """Take away a turn that was saved up; one that is half made up for stays."""
        if self._missing(now) == 0.0:
            self._level, self._at = 0.0, now

    def clear(self, now: float) -> None:
        """Send all nodes away and begin with an empty bucket."""
        self._waiting.clear()
        self._granted.clear()
        self._level, self._at = 0.0, now

    def ask(self, name: str, now: float) -> float | None:
        """Take a place at the end of the line, if the node has none.

        Returns:
            Zero: `take` the turn now. Otherwise the seconds after which to ask again, or None if it will be told.
        """
        if name not in self._granted:
            self._waiting.setdefault(name)
        if not self._rate:
            return None
        if name in self._granted:
            return 0.0
        return self._missing(now) / self._rate if [name] == self._first else None

    def take(self, name: str, now: float) -> list[str]:
        """Use up the turn that `ask` offered, unless the node has it already; the nodes to tell."""
        if name in self._granted:
            return []
        self._level, self._at = self._level_at(now) - 1.0, now
        self._waiting.pop(name, None)
        self._granted[name] = False
        self.given += 1
        return self._first

    def give_back(self, name: str, now: float) -> list[str]:
        """Leave the line because the turn must not be used; the nodes to tell.

        The next node may have the turn at once, unless the eviction for which it was given may have happened.
        """
        is_unused = self._granted.get(name) is False
        told = self.leave(name)
        if not is_unused:
            return told
        self._level, self._at = min(1.0, self._level_at(now) + 1.0), now
        self.given -= 1
        return self._first

    def step_aside(self, name: str) -> list[str]:
        """Let the others pass, because a look at the node failed; the nodes to tell.

        It comes last when it asks again, unless it has a turn already: that one it keeps.
        """
        if name in self._granted:
            self._granted[name] = True
            return []
        return self.leave(name)

    def leave(self, name: str) -> list[str]:
        """Forget a node that needs no turn, or has used it; the nodes to tell."""
        was_first = [name] == self._first
        self._waiting.pop(name, None)
        self._granted.pop(name, None)
        return self._first if was_first else []

    def _missing(self, now: float) -> float:
        missing = 1.0 - self._level_at(now)
        return missing if missing > _ROUNDING else 0.0

    def _level_at(self, now: float) -> float:
        return min(1.0, self._level + (now - self._at) * self._rate)
