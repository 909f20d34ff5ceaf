# SPDX-License-Identifier: Apache-2.0
"""What to do next: each item once, later, slower; never in two hands at a time.

One class and one condition. There is no timer thread: `get` sleeps until the earliest
due time, and whoever looks moves what has fallen due. What a key means, it does not know.
"""

from __future__ import annotations

import copy
import enum
import itertools
from collections.abc import Hashable
from typing import Generic, TypeVar

from controller_runtime.core.errors import ShutDown
from controller_runtime.core.host import Host
from controller_runtime.queue.counters import QueueCounters, Tally
from controller_runtime.queue.rate_limiters import ItemExponential, RateLimiter
from controller_runtime.queue.turns import Bands, Place, Timetable, Turn

T = TypeVar("T", bound=Hashable)

MAX_CAUSES = 4
"""How many different causes are kept for one hand-out; the first ones."""


class _Stage(enum.Enum):
    OPEN = enum.auto()
    DRAINING = enum.auto()  # shut, and somebody waits until all work is done
    SHUT = enum.auto()


class WorkQueue(Generic[T]):
    """Items to work on: de-duplicated, delayed, rate-limited, in two bands.

    An item added while it waits is one item; it keeps the sooner time and the better
    band. An item added while it is held is handed out again after `done`, not before.
    Order is first come, first served within a band, by when an item was added or fell due,
    whether it was held then or not. The low band gets every eighth hand-out while both
    wait, so nothing starves.

    Args:
        host: What it waits on.
        name: Label of its counters.
        limiter: Delays of `add_rate_limited`, for this queue alone; `ItemExponential()` by default.

    Threads: any, for every method; only `get` and a draining `shut_down` block.
    """

    def __init__(self, host: Host, *, name: str = "", limiter: RateLimiter | None = None) -> None:
        self.name = name
        self._now = host.monotonic
        # Guards everything below, the limiter included.
        self._condition = host.condition(f"queue/{name}")
        self._stage = _Stage.OPEN
        self._limiter: RateLimiter = limiter if limiter is not None else ItemExponential()
        # The next turn of every item that has one: WAITING, READY or AGAIN.
        self._turns: dict[T, Turn[T]] = {}
        # The current turn of every item that is out.
        self._held: dict[T, Turn[T]] = {}
        self._due: Bands[T] = Bands()
        self._waiting: Timetable[T] = Timetable()
        # When the retry of a failed item is (or was) due, until it is forgotten.
        self._retry_at: dict[T, float] = {}
        self._tally = Tally()
        # How many wait in `get`, so that nobody is called while all of them work.
        self._sleepers = 0

    def __len__(self) -> int:
        """How many items could be handed out now; held ones that will come again do not count."""
        with self._condition:
            self._promote_due(self._now())
            return sum(self._tally.depth) - self._tally.again

    def add(self, item: T, *, low: bool = False, cause: str = "") -> None:
        """Hand out `item` as soon as possible. Ignored once shut down.

        Args:
            item: What to hand out.
            low: Behind everything else; for what is not news.
            cause: Why, for the log: a few words, the same ones for the same reason.
        """
        with self._condition:
            if self._stage is _Stage.OPEN:
                now = self._now()
                self._plan(item, now, now, low, cause)

    def add_after(self, item: T, delay: float, *, cause: str = "") -> None:
        """Hand out `item` once `delay` has passed, in the band in which it is held (normal, if it is not).

        If the item waits already, the sooner time wins. Ignored once shut down.

        Args:
            item: What to hand out.
            delay: Seconds from now; zero or less adds at once.
            cause: Why, as for `add`.
        """
        with self._condition:
            if self._stage is _Stage.OPEN:
                now = self._now()
                self._plan_later(item, now, now + delay, cause)

    def add_rate_limited(self, item: T, *, at_least: float = 0.0, cause: str = "") -> None:
        """Hand out `item` again when its limiter says so, because it failed. Ignored once shut down.

        A failure that comes before the retry of the last one is due (an event was
        quicker) is not counted: the item is retried when it would have been.

        Args:
            item: What failed.
            at_least: Seconds that must pass in any case, such as a server's `Retry-After`.
            cause: Why, as for `add`.
        """
        with self._condition:
            if self._stage is not _Stage.OPEN:
                return
            now = self._now()
            due = self._retry_at.get(item)
            if due is None or due <= now:
                due = now + self._limiter.when(item, now)
            due = self._retry_at[item] = max(due, now + at_least)
            self._plan_later(item, now, due, cause)

    def get(self) -> T:
        """Wait for the next item and hold it; give it back with `done`.

        Raises:
            ShutDown: The queue is shut down and nothing is left to hand out.
        """
        with self._condition:
            while True:
                now = self._now()
                self._promote_due(now)
                turn = self._due.take()
                if turn is not None:
                    self._hold(turn, now)
                    return turn.item
                if self._stage is not _Stage.OPEN:
                    raise ShutDown
                # No sleeper's deadline is ever later than the earliest due time: see `_plan`.
                self._sleepers += 1
                self._condition.wait_until(self._waiting.first)
                self._sleepers -= 1

    def done(self, item: T) -> None:
        """Give back an item; if it was added meanwhile, it is ready now.

        Raises:
            ValueError: Nobody holds it.
        """
        with self._condition:
            held = self._held.pop(item, None)
            if held is None:
                raise ValueError(f"{item} is not held: done without get")
            self._tally.work_duration.observe(self._now() - held.at)
            turn = self._turns.get(item)
            if turn is not None and turn.place is Place.AGAIN:
                self._tally.again -= 1
                self._offer(turn)
            if self._stage is not _Stage.OPEN:
                self._condition.notify_all()  # somebody may wait for the last one

    def forget(self, item: T) -> None:
        """Forget the failures of `item`: it succeeded, or was given up. What is planned stays planned."""
        if item not in self._retry_at:  # as a rule; one that is added at this instant could as well come after
            return
        with self._condition:
            self._limiter.forget(item)
            self._retry_at.pop(item, None)

    def num_requeues(self, item: T) -> int:
        """How many failures of `item` its limiter counts."""
        with self._condition:
            return self._limiter.num_requeues(item)

    def causes(self, item: T) -> tuple[str, ...]:
        """Why the held `item` was handed out: its first few causes; empty if it is not held."""
        with self._condition:
            held = self._held.get(item)
            return held.causes if held is not None else ()

    def shut_down(self, drain: bool = False) -> None:
        """Ignore what is added from now on, and drop what waits for its time.

        What is ready is still handed out; then `get` raises. Idempotent.

        Args:
            drain: Also wait until everything has been handed out and is done. A later
                plain `shut_down`, from another thread, ends that wait.
        """
        with self._condition:
            self._promote_due(self._now())
            self._turns = {item: turn for item, turn in self._turns.items() if turn.place is not Place.WAITING}
            self._waiting.clear()
            self._stage = _Stage.DRAINING if drain else _Stage.SHUT
            self._condition.notify_all()
            while self._stage is _Stage.DRAINING and (self._turns or self._held):
                self._condition.wait_until(None)

    def counters(self) -> QueueCounters:
        """What has been counted so far, at one instant."""
        with self._condition:
            now = self._now()
            self._promote_due(now)
            return self._tally.snapshot([now - held.at for held in self._held.values()])

    def turns(self, limit: int) -> list[Turn[T]]:
        """Copies of all the turns that are held and of up to `limit` others, for people to look at."""
        with self._condition:
            others = itertools.islice(self._turns.values(), limit)
            return [copy.copy(turn) for turn in (*self._held.values(), *others)]

    def _plan_later(self, item: T, now: float, due: float, cause: str) -> None:
        held = self._held.get(item)
        self._tally.retries += due > now
        self._plan(item, now, due, held is not None and held.low, cause)

    def _plan(self, item: T, now: float, due: float, low: bool, cause: str) -> None:
        """Give the item a turn, or bring the one it has forward to `due` and up to its band."""
        if self._waiting.first is not None and self._waiting.first <= now:  # what fell due before comes first
            self._promote_due(now)
        turn = self._turns.get(item)
        if turn is None:
            turn = self._turns[item] = Turn(item, low)
        if cause and len(turn.causes) < MAX_CAUSES and cause not in turn.causes:
            turn.causes += (cause,)
        if turn.low and not low:
            self._raise(turn)
        if turn.place is Place.WAITING and due < turn.at:
            if due <= now:
                self._make_ready(turn, now)
            elif self._waiting.put(turn, due, len(self._turns) - sum(self._tally.depth)):
                # All of them: a condition may wake any of its sleepers. If only one knew of the due time, an addition
                # could wake that one and send it off to work, and the others would sleep past the due time.
                self._condition.notify_all()

    def _raise(self, turn: Turn[T]) -> None:
        """From the low band to the end of the normal one."""
        turn.low = False
        if turn.place is not Place.WAITING:
            self._tally.depth[True] -= 1
            self._tally.depth[False] += 1
            self._due.move_up(turn)

    def _promote_due(self, now: float) -> None:
        """Make ready what has fallen due."""
        while (turn := self._waiting.take_due(now)) is not None:
            self._make_ready(turn, turn.at)

    def _make_ready(self, turn: Turn[T], at: float) -> None:
        turn.at = at
        self._tally.adds += 1
        self._tally.depth[turn.low] += 1
        self._due.append(turn)  # its place is the time of its addition, even if its item is held
        if turn.item in self._held:
            turn.place = Place.AGAIN
            self._tally.again += 1
        else:
            self._offer(turn)

    def _offer(self, turn: Turn[T]) -> None:
        turn.place = Place.READY
        if self._sleepers:
            self._condition.notify()

    def _hold(self, turn: Turn[T], now: float) -> None:
        del self._turns[turn.item]
        self._held[turn.item] = turn
        self._tally.depth[turn.low] -= 1
        self._tally.queue_duration.observe(max(0.0, now - turn.at))
        turn.place = Place.HELD
        turn.at = now
