# SPDX-License-Identifier: Apache-2.0
"""The work queue: each item once, now or after a delay, and never processed twice at a time.

It is one class with one condition, where client-go stacks three queues. There is no timer thread: `get` waits
until the earliest due time, and each call that looks at the queue first queues the items that have fallen due.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from apimachinery.errors import ShutDown
from apimachinery.host import Host
from controller_runtime.queue.causes import Causes, PlainCause, PlainKey, PlainVersion
from controller_runtime.queue.counters import QueueCounters, QueueTally
from controller_runtime.queue.fairness import FairBand, grouping
from controller_runtime.queue.rate_limiters import ItemExponential, RateLimiter
from controller_runtime.queue.turns import Bands, DelayedTurns, FifoBand, QueueStage, Turn, TurnState

T = TypeVar("T", bound=Hashable)


class WorkQueue(Generic[T]):
    """A queue of items to process: de-duplicated, delayed, rate-limited, with two priorities called bands.

    An item that is added again before it is handed out is handed out once, at the earlier time and in the better band;
    an item added while it is being processed is handed out again after `done`. Inside a band, items come in the order
    in which they were added or fell due. While both bands have items, every eighth hand-out is from the low one.

    Args:
        host: The source of the time and of the lock's condition.
        name: Label of its metrics.
        limiter: Delays of `add_rate_limited`, for this queue only; `ItemExponential()` by default.
        fair_by: Returns the group of an item, such as its namespace. Inside a band the groups then alternate (see
            `fairness.py`). It must be pure and quick; if it raises, the item is not added.

    Threads: any, for every method; only `get` and a draining `shut_down` wait.
    """

    def __init__(
        self,
        host: Host,
        *,
        name: str = "",
        limiter: RateLimiter | None = None,
        fair_by: Callable[[T], Hashable] | None = None,
    ) -> None:
        self.name = name
        self._now = host.monotonic
        # Guards everything below. The limiter and `fair_by`, which may be a user's, are called under it.
        self._condition = host.condition(f"queue/{name}")
        self._stage = QueueStage.OPEN
        self._limiter: RateLimiter = limiter if limiter is not None else ItemExponential()
        self._group_of = grouping(fair_by)
        # Items to process, each with its next turn: client-go's `dirty`, and the delayed items. Each turn is READY or
        # BLOCKED and then in `_queue`, or DELAYED and then in `_delayed`.
        self._dirty: dict[T, Turn[T]] = {}
        # Items that were handed out and are not done, each with its PROCESSING turn. An item can be dirty as well;
        # exactly then its queued turn is BLOCKED rather than READY.
        self._processing: dict[T, Turn[T]] = {}
        # The READY and BLOCKED turns of `_dirty`, in the order of hand-out: client-go's `queue`.
        self._queue: Bands[T] = Bands(FifoBand if fair_by is None else FairBand)
        # The DELAYED turns of `_dirty`, by due time: client-go's `waitingForQueue`.
        self._delayed: DelayedTurns[T] = DelayedTurns()
        # How many turns of `_queue` are READY: `get` would hand them out without waiting.
        self._ready = 0
        # The due time of the last retry of each item that has failed and was not forgotten since. It may have passed.
        self._retry_at: dict[T, float] = {}
        self._sleepers = 0  # threads that wait in `get`; while there are none, an addition need not notify
        # One of them was notified and has not run since. It notifies the next if it leaves items; others that were
        # notified before would often find that a thread at work had taken the items.
        self._is_waking = False
        self._tally = QueueTally()

    def __len__(self) -> int:
        """Return how many items could be handed out now, without those that are delayed or blocked."""
        with self._condition:
            self._queue_due(self._now())
            return self._ready

    def add(
        self, item: T, *, low: bool = False, cause: str = "", key: PlainKey | None = None, version: str = ""
    ) -> None:
        """Queue `item` now, unless it is queued already; its delay ends, if any. Ignored once the queue is shut down.

        Args:
            low: Add it to the low band, for unchanged items, such as those of an initial list. An addition without it
                moves a waiting item to the normal band.
            cause: The reason, for people: a few words, always the same for the same reason.
            key: Name and namespace of the object that caused the addition, for people; None if no object did.
            version: That object's resourceVersion.
        """
        with self._condition:
            if self._stage is QueueStage.OPEN:
                self._plan(item, now := self._now(), now, low, (cause, key, version, 1))

    def add_after(self, item: T, delay: float, *, cause: str = "") -> None:
        """Add `item` once `delay` has passed. Ignored once the queue is shut down.

        If the item is queued or delayed already, the earlier time wins. An item that is being processed from the low
        band is put there again, any other into the normal band, even if it is in the low band now.

        Args:
            delay: Seconds from now; zero or less is the same as `add`.
            cause: The reason, for people; see `add`.
        """
        with self._condition:
            if self._stage is QueueStage.OPEN:
                self._plan_later(item, now := self._now(), now + delay, cause)

    def add_rate_limited(self, item: T, *, at_least: float = 0.0, cause: str = "") -> None:
        """Add `item` again after the delay that the rate limiter decides. Ignored once the queue is shut down.

        A call before the planned retry is due counts as no failure, and keeps its time unless `at_least` is later.

        Args:
            at_least: The least delay in seconds, such as a server's `Retry-After`.
        """
        with self._condition:
            if self._stage is not QueueStage.OPEN:
                return
            now = self._now()
            due = self._retry_at.get(item)
            if due is None or due <= now:
                due = now + self._limiter.when(item, now)
            due = self._retry_at[item] = max(due, now + at_least)
            self._plan_later(item, now, due, cause)

    def get(self) -> T:
        """Wait for the next item and return it. Call `done` with it when it has been processed.

        Raises:
            ShutDown: The queue is shut down, and nothing is left to hand out.
        """
        with self._condition:
            return self._take()

    def done(self, item: T) -> None:
        """End the processing of `item`, so that an addition that came meanwhile can be handed out.

        Raises:
            ValueError: `item` is not being processed.
        """
        with self._condition:
            self._end(item)

    def done_and_get(self, item: T) -> T:
        """Call `done(item)`, and return the result of `get()`.

        It takes the lock only once, and raises what the two raise.
        """
        with self._condition:
            self._end(item)
            return self._take()

    def forget(self, item: T) -> None:
        """Forget the failures of `item`, because it succeeded or is not retried; a planned hand-out stays."""
        # Without the lock, because most items have never failed. A failure that is added at the same moment could as
        # well come after this call.
        if item in self._retry_at:
            with self._condition:
                self._limiter.forget(item)
                self._retry_at.pop(item, None)

    def num_requeues(self, item: T) -> int:
        """Return how many failures of `item` the limiter counts."""
        with self._condition:
            return self._limiter.num_requeues(item)

    def causes(self, item: T) -> Causes:
        """Return the first few causes for which `item` is being processed; empty if it is not being processed."""
        # Without the lock: a look-up in a dict is whole, and a turn that was handed out gets no further causes.
        return Causes(turn.causes) if (turn := self._processing.get(item)) is not None else Causes()

    def covered(self, item: T) -> Sequence[PlainVersion]:
        """Return the object versions that also led to processing `item` now, but for which `causes` has no room."""
        return getattr(self._processing.get(item), "covered", None) or ()  # without the lock, as `causes`

    def shut_down(self, drain: bool = False) -> None:
        """Ignore further additions, and drop the delayed items.

        Queued items are still handed out; then `get` raises `ShutDown`. Idempotent.

        Args:
            drain: Also wait until every item is done. A later `shut_down` without `drain` ends that wait.
        """
        with self._condition:
            self._queue_due(self._now())
            self._dirty = {item: turn for item, turn in self._dirty.items() if turn.state is not TurnState.DELAYED}
            self._delayed.clear()
            self._stage = QueueStage.DRAINING if drain else QueueStage.SHUT
            self._condition.notify_all()
            while self._stage is QueueStage.DRAINING and (self._dirty or self._processing):
                self._condition.wait_until(None)

    def counters(self) -> QueueCounters:
        """Return the current metrics."""
        with self._condition:
            self._queue_due(now := self._now())
            processed_for = [now - turn.at for turn in self._processing.values()]
            return self._tally.snapshot(self._queue.depth, self._queue.low_depth, processed_for)

    def turns(self, limit: int) -> list[Turn[T]]:
        """Return copies of the turns (hand-outs) of all items being processed, and of up to `limit` others."""
        with self._condition:
            return [*map(copy.copy, (*self._processing.values(), *itertools.islice(self._dirty.values(), limit)))]

    def turns_of(self, item: T) -> list[Turn[T]]:
        """Return copies of the turns (hand-outs) of `item`: the one being processed, then the next one, if any."""
        with self._condition:
            return [copy.copy(turns[item]) for turns in (self._processing, self._dirty) if item in turns]

    def _take(self) -> T:
        while True:
            self._queue_due(now := self._now())
            if (turn := self._queue.take()) is not None:
                self._process(turn, now)
                if self._ready:
                    self._wake()
                return turn.item
            if self._stage is not QueueStage.OPEN:
                raise ShutDown
            # No thread sleeps past the earliest due time: `_plan` wakes all of them when a sooner one comes.
            self._sleepers += 1
            self._condition.wait_until(self._delayed.first)
            self._sleepers -= 1
            self._is_waking = False

    def _end(self, item: T) -> None:
        if (processed := self._processing.pop(item, None)) is None:
            raise ValueError(f"{item} is not being processed: done was called without get")
        self._tally.work_duration.observe(self._now() - processed.at)
        if (turn := self._dirty.get(item)) is not None and turn.state is TurnState.BLOCKED:
            self._make_ready(turn)
        if self._stage is not QueueStage.OPEN:
            self._condition.notify_all()  # `get` may end now, and so may a draining `shut_down`

    def _plan_later(self, item: T, now: float, due: float, cause: str) -> None:
        processed = self._processing.get(item)
        self._tally.retries += due > now
        self._plan(item, now, due, processed is not None and processed.low, (cause, None, "", 1))

    def _plan(self, item: T, now: float, due: float, low: bool, cause: PlainCause) -> None:
        """Plan a turn of the item; if one is planned already, bring it forward to `due`, and up unless `low`."""
        if self._delayed.first is not None and self._delayed.first <= now:  # these precede what is added now
            self._queue_due(now)
        turn = self._dirty.get(item)
        if turn is None:
            turn = self._dirty[item] = Turn(item, low, None if self._group_of is None else self._group_of(item))
        if cause[0]:
            turn.add_cause(cause)
        if turn.low and not low:
            turn.low = False
            if turn.state is not TurnState.DELAYED:
                self._queue.raise_to_normal(turn)
        if turn.state is TurnState.DELAYED and due < turn.at:
            if due <= now:
                self._enqueue(turn, now)
            elif self._delayed.put(turn, due, live=len(self._dirty) - len(self._queue)):
                # Wake all sleepers: `notify` wakes any one of them. If only one knew of the new due time, an addition
                # could wake that one and send it off to work, and the others would sleep past the due time.
                self._condition.notify_all()

    def _queue_due(self, now: float) -> None:
        """Queue the delayed turns that have fallen due."""
        while (turn := self._delayed.take_due(now)) is not None:
            self._enqueue(turn, turn.at)

    def _enqueue(self, turn: Turn[T], at: float) -> None:
        """Queue a turn, even if the item is being processed: a turn's place in the order is set when it is added."""
        turn.at = at
        self._tally.adds += 1
        self._queue.append(turn)
        if turn.item in self._processing:
            turn.state = TurnState.BLOCKED
        else:
            self._make_ready(turn)

    def _make_ready(self, turn: Turn[T]) -> None:
        turn.state = TurnState.READY
        self._ready += 1
        self._wake()

    def _wake(self) -> None:
        """Notify one sleeping thread, unless one is on its way already."""
        if self._sleepers and not self._is_waking:
            self._is_waking = True
            self._condition.notify()

    def _process(self, turn: Turn[T], now: float) -> None:
        """Move a turn that was taken from the queue from `_dirty` to `_processing`."""
        del self._dirty[turn.item]
        self._processing[turn.item] = turn
        self._ready -= 1
        self._tally.queue_duration.observe(max(0.0, now - turn.at))
        turn.state = TurnState.PROCESSING
        turn.at = now
