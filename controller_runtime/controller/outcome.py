# SPDX-License-Identifier: Apache-2.0
"""Decides what follows the end of a reconcile: for the queue, the metrics and the log.

This is the only place that decides which requests are retried, requeued or forgotten.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator

from apimachinery.errors import (
    APIError,
    Cancelled,
    ControllerRuntimeError,
    ReconcileTimeout,
    TemporaryError,
    TerminalError,
    UsageError,
)
from apimachinery.log import get_logger
from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.controller.counters import Outcome
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.controller.unreadable import UnreadableObjects
from controller_runtime.queue.causes import Causes
from controller_runtime.queue.workqueue import WorkQueue

log = get_logger(__name__)

MEMBERS_SHOWN = 4
"""The most members of an exception group that a log line shows, so that people can still read it."""

TIMED = frozenset(("requeue_after", "retry", "cancelled"))
"""The causes of those requests that `settle` schedules for a later time."""

CAUSES_SHOWN = 8
"""The most errors in a chain, each raised from the next, that a log line shows."""


def settle(
    queue: WorkQueue[Request],
    request: Request,
    end: Result | BaseException,
    took: float,
    chance: random.Random,
    *,
    causes: Causes,
    timeout: float | None = None,
    unreadable: UnreadableObjects | None = None,
) -> Outcome:
    """Retry, requeue or forget a request whose reconcile has ended, log the end, and return the outcome to count.

    Call it before `queue.done`, so that a retry keeps the priority of the request, and inside the `except` that caught
    `end`, so that the log shows the traceback of a bug.

    Args:
        queue: The queue that the request came from.
        request: The key that was reconciled.
        end: The value that the reconciler returned, or the error that it raised.
        took: Seconds that the reconcile took.
        chance: The source of randomness for the jitter.
        causes: Why the request was reconciled.
        timeout: Seconds that the reconcile was allowed to take; None for no limit.
        unreadable: Decides which unreadable objects end the retries; with None, none does.
    """
    if isinstance(end, Result) and not is_late(took, timeout):
        if unreadable is not None:
            unreadable.clear(request)
        queue.forget(request)
        if end.requeue_after is None:
            log.debug("reconciled", causes=causes, took=took)
            return Outcome.SUCCESS
        delay = end.delay(chance)
        queue.add_after(request, delay, cause="requeue_after")
        log.debug("reconciled", causes=causes, took=took, requeue_after=delay)
        return Outcome.REQUEUE_AFTER
    if unreadable is not None and _waits_for_a_change(unreadable, request, end, causes, took):
        queue.forget(request)
        return Outcome.TERMINAL_ERROR
    if isinstance(end, Result):
        # From the timeout on its requests were refused, so its result cannot be trusted: it must run again.
        end = ReconcileTimeout(f"the reconcile took {took:.3g} s and may take {timeout:g} s")
    return _settle_failure(queue, request, end, causes, took)


def is_late(took: float, timeout: float | None) -> bool:
    """Return whether `took`, the seconds of a reconcile, reached `timeout`; False if there is no timeout."""
    return timeout is not None and took >= timeout


def outcome_of(error: BaseException) -> Outcome:
    """Return the outcome of a reconcile that raised `error`: CANCELLED, TERMINAL_ERROR, ERROR or PANIC.

    An error raised from a terminal or cancelled one (`raise X from error`), through any number of steps, counts as
    terminal or cancelled. An exception group is terminal or cancelled only if all its members are: to retry a terminal
    member costs only a try, but a member that is wrongly not retried leaves its work undone until the object changes.
    (Go treats a joined error as terminal if any member is.) `__context__` does not count, since an error raised while
    another one is handled need not be about it; the exception is a `UsageError`, which makes any error that is not
    terminal or cancelled a PANIC: see `is_bug`.
    """
    if _stands_for(error, lambda each: isinstance(each, Cancelled)):
        return Outcome.CANCELLED
    if _stands_for(error, lambda each: isinstance(each, TerminalError)):
        return Outcome.TERMINAL_ERROR
    return Outcome.ERROR if _is_expected(error) and not _comes_of_misuse(error) else Outcome.PANIC


def is_bug(error: BaseException) -> bool:
    """Return whether an error reports a bug in the program: it is unexpected, or a `UsageError` led to it.

    A `UsageError` means that the program has to be corrected, even if other errors wrap it. So groups, causes and
    contexts are searched for it. Code that catches a `UsageError` on purpose raises its own error `from None`.
    """
    return outcome_of(error) is Outcome.PANIC or _comes_of_misuse(error)


def _waits_for_a_change(
    unreadable: UnreadableObjects, request: Request, end: Result | BaseException, causes: Causes, took: float
) -> bool:
    """Return whether only a change of an unreadable object makes a retry worth it; then log and count that.

    A `TerminalError` that a reconciler raised from the error of the object is not touched: its text says more.
    """
    found: list[UnreadableObject] = []
    if (
        isinstance(end, BaseException)
        and outcome_of(end) is not Outcome.TERMINAL_ERROR
        and _stands_for(end, lambda each: isinstance(each, TerminalError) or unreadable.is_final(each))
    ):
        found = [each for each in _reachable(end) if isinstance(each, UnreadableObject) and unreadable.is_final(each)]
    if not found:
        unreadable.clear(request)
        return False
    tell = log.warning if unreadable.note(request, found) else log.debug
    text = "; ".join(str(error) for error in found)
    tell("object cannot be read: waiting until it changes", causes=causes, took=took, error=text)
    return True


def retry_after(error: BaseException) -> float:
    """Return the longest delay in seconds that `error` asks for, or its causes or group members; zero if none does.

    Such delays are the `Retry-After` of an `APIError`, and `requeue_after` of a `TemporaryError`.
    """
    asked = [0.0]
    for each in _reachable(error):
        if isinstance(each, APIError):
            asked.append(each.retry_after or 0.0)
        elif isinstance(each, TemporaryError):
            asked.append(each.requeue_after or 0.0)
    return max(asked)


def own_delay(error: BaseException) -> float | None:
    """Return the delay of the retry, in seconds, that an error sets itself; None if the limiter decides.

    It is the `requeue_after` of a `TemporaryError`; for a group in which each member has a delay, the longest one.
    """
    if not _stands_for(error, lambda each: isinstance(each, TemporaryError) and each.requeue_after is not None):
        return None
    return retry_after(error)


def _settle_failure(
    queue: WorkQueue[Request], request: Request, error: BaseException, causes: Causes, took: float
) -> Outcome:
    outcome = outcome_of(error)
    if outcome is Outcome.TERMINAL_ERROR:
        queue.forget(request)
        log.warning("reconcile failed for good", causes=causes, took=took, error=_text(error))
        return outcome
    if outcome is Outcome.CANCELLED:
        # The queue ignores this if the process stops. If it does not (user code raised the error), a retry is due.
        queue.add_rate_limited(request, cause="cancelled")
        log.debug("reconcile cancelled", causes=causes, took=took)
        return outcome
    if (delay := own_delay(error)) is not None:
        queue.add_after(request, delay, cause="retry")
    else:
        queue.add_rate_limited(request, at_least=retry_after(error), cause="retry")
    failures = queue.num_requeues(request)
    if outcome is Outcome.ERROR:
        log.warning("reconcile failed", causes=causes, took=took, failures=failures, error=_text(error))
    else:
        log.exception("reconcile raised", causes=causes, took=took, failures=failures, error=_text(error))
    return outcome


def _stands_for(error: BaseException, is_kind: Callable[[BaseException], bool], above: Collection[int] = ()) -> bool:
    """Return whether `error`, or an error that it was raised from, satisfies `is_kind` or is a group of nothing else.

    A member can be raised from its own group. `above` holds the ids of the errors above, to end such a circle.
    """
    cause: BaseException | None = error
    seen = set(above)
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if is_kind(cause):
            return True
        if isinstance(cause, BaseExceptionGroup) and all(_stands_for(each, is_kind, seen) for each in cause.exceptions):
            return True
        cause = cause.__cause__
    return False


def _is_expected(error: BaseException) -> bool:
    """Return whether `error` is a `ControllerRuntimeError`, so raised on purpose, or a group of nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_expected(each) for each in error.exceptions)
    return isinstance(error, ControllerRuntimeError)


def _comes_of_misuse(error: BaseException) -> bool:
    return any(isinstance(each, UsageError) for each in _reachable(error, with_contexts=True))


def _reachable(error: BaseException, *, with_contexts: bool = False) -> Iterator[BaseException]:
    """Yield `error`, the errors that it was raised from and the members of groups, each once.

    Args:
        error: The error.
        with_contexts: Yield also the errors during whose handling others were raised, unless that was done `from None`.
    """
    left, seen = [error], set[int]()
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        cause, context = each.__cause__, each.__context__
        left += [] if cause is None else [cause]
        if with_contexts and context is not None and (cause is not None or not each.__suppress_context__):
            left.append(context)
        left += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


def _text(error: BaseException, shown: frozenset[int] = frozenset()) -> str:
    """Return the error in one line, with the first members of a group, and its cause unless its text shows that.

    Args:
        error: The error.
        shown: The ids of the errors that the line shows already.
    """
    text, cause = f"{type(error).__name__}: {error}", error.__cause__
    shown |= {id(error)}
    if isinstance(error, BaseExceptionGroup):
        members = [_text(each, shown) for each in error.exceptions[:MEMBERS_SHOWN] if id(each) not in shown]
        text = f"{text}: {'; '.join(members)}"
    if cause is None or id(cause) in shown or len(shown) > CAUSES_SHOWN or str(cause) in text:
        return text
    return f"{text} (caused by {_text(cause, shown)})"
