# SPDX-License-Identifier: Apache-2.0
"""Stories: records of the last reconciles of a manager, with their causes, reads, writes and outcomes."""

from __future__ import annotations

import itertools
from collections import deque
from typing import TypeAlias

import attrs

from controller_runtime.controller.counters import Outcome
from controller_runtime.controller.failing import error_text
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.core.story import Step, Steps
from controller_runtime.queue.causes import Causes

KEPT = 1000
"""The number of stories of a manager that are kept, of all its controllers together."""

FAILURES_KEPT = 100
"""The number of stories of failed reconciles that are kept in addition, so that a thousand good ones do not displace
them.
"""

_FAILED = (Outcome.ERROR, Outcome.TERMINAL_ERROR, Outcome.PANIC)


@attrs.frozen
class Story:
    """The record of one reconcile that has ended, for the status page.

    Attributes:
        number: The number of the story in its manager, from 1 on.
        controller: The controller's name.
        request: The request.
        ended: The time of its end, in monotonic seconds.
        took: Its duration in seconds.
        outcome: How it ended.
        causes: Why it was requested.
        steps: Its first reads and writes, in order: reads of caches, and requests of the manager's client.
        left_out: The number of steps that are not in `steps`.
        requeue_after: The `requeue_after` of its result, in seconds; None if it has none.
        error: The error in one line; empty if there was none.
    """

    number: int
    controller: str
    request: Request
    ended: float
    took: float
    outcome: Outcome
    causes: Causes
    steps: tuple[Step, ...] = ()
    left_out: int = 0
    requeue_after: float | None = None
    error: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether the outcome counts as an error."""
        return self.outcome in _FAILED


# The same as plain values, since each reconcile makes one and few are ever read.
_Plain: TypeAlias = "tuple[int, str, Request, float, float, Outcome, Causes, Steps | None, float | None, str]"


class Stories:
    """Keeps the last stories (records of reconciles) of a manager, once `is_recording` is set.

    Attributes:
        is_recording: Whether stories are recorded. It is False until a status page can show them, so that a program
            without one has no cost.

    Threads: any. There is no lock, because appending to a deque and copying it are atomic.
    """

    def __init__(self) -> None:
        self.is_recording = False
        self._numbers = itertools.count(1)
        self._last: deque[_Plain] = deque(maxlen=KEPT)
        self._failed: deque[_Plain] = deque(maxlen=FAILURES_KEPT)

    def add(
        self,
        controller: str,
        ended: tuple[Request, float, Causes],
        took: float,
        outcome: Outcome,
        end: Result | BaseException,
        steps: Steps | None,
    ) -> None:
        """Keep the story of a reconcile.

        Args:
            controller: The controller's name.
            ended: The request, when it ended (monotonic seconds), and why it was requested.
            took: Its duration in seconds.
            outcome: How it ended.
            end: The value that the reconciler returned, or the error that it raised.
            steps: Its reads and writes; None if they were not recorded.
        """
        request, at, causes = ended
        after, error = None, ""
        if isinstance(end, Result):
            after = end.requeue_after
        else:
            error = error_text(end)
        plain = (next(self._numbers), controller, request, at, took, outcome, causes, steps, after, error)
        self._last.append(plain)
        if outcome in _FAILED:
            self._failed.append(plain)

    def all(self) -> list[Story]:
        """Return the kept stories, the newest first. Those of failures are kept longer than the others."""
        kept = {plain[0]: plain for plain in (*self._failed.copy(), *self._last.copy())}
        return [_story(kept[number]) for number in sorted(kept, reverse=True)]


def _story(plain: _Plain) -> Story:
    number, controller, request, ended, took, outcome, causes, steps, after, error = plain
    kept, left_out = ((), 0) if steps is None else (tuple(steps.kept), steps.left_out)
    return Story(number, controller, request, ended, took, outcome, causes, kept, left_out, after, error)
