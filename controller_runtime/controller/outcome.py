# SPDX-License-Identifier: Apache-2.0
"""What the end of a reconcile does to the queue, the counters and the log: the one switch.

Nowhere else in the house is decided what is forgotten, retried or requeued.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator

from controller_runtime.controller.counters import Outcome
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.core.errors import APIError, Cancelled, ControllerRuntimeError, TerminalError
from controller_runtime.core.log import get_logger
from controller_runtime.queue.workqueue import WorkQueue

log = get_logger(__name__)

MEMBERS_SAID = 4
"""How many members of a group a log line names."""

CAUSES_SAID = 8
"""How many errors, each raised from the next, a log line names."""


def settle(
    queue: WorkQueue[Request], request: Request, end: Result | BaseException, took: float, chance: random.Random
) -> Outcome:
    """Plan what follows the end of a reconcile, log it, and say what it counts as.

    Called while the request is still held, so that what is planned keeps its band; and
    where `end` is being handled, so that the log gets the traceback of a bug.

    Args:
        queue: Where the request came from.
        request: What was reconciled.
        end: What the reconciler returned or raised.
        took: Seconds it took.
        chance: For the jitter.
    """
    causes = ", ".join(queue.causes(request))
    match end:
        case Result(requeue_after=None):
            queue.forget(request)
            log.debug("reconciled", causes=causes, took=took)
            return Outcome.SUCCESS
        case Result():
            delay = end.delay(chance)
            queue.forget(request)
            queue.add_after(request, delay, cause="requeue_after")
            log.debug("reconciled", causes=causes, took=took, requeue_after=delay)
            return Outcome.REQUEUE_AFTER
        case _:
            return _settle_failure(queue, request, end, causes, took)


def outcome_of(error: BaseException) -> Outcome:
    """Return what a reconcile that raised `error` counts as: CANCELLED, TERMINAL_ERROR, ERROR or PANIC.

    A terminal or a cancelled error is recognized if another was raised from it (`raise X from error`), however
    often. A group is terminal only if each of its members is: a retry that was not needed costs one try, but a
    member that is not retried could be lost until the object changes. (Go takes a joined error as terminal if any
    of its members is.) `__context__` means nothing, for an error raised while another is handled need not be about it.
    """
    if _stands_for(error, Cancelled):
        return Outcome.CANCELLED
    if _stands_for(error, TerminalError):
        return Outcome.TERMINAL_ERROR
    return Outcome.ERROR if _is_expected(error) else Outcome.PANIC


def retry_after(error: BaseException) -> float:
    """Return the most seconds that a server asked for in `error`, in its causes, or in any member of a group."""
    reachable = (each for each in _reachable(error) if isinstance(each, APIError))
    return max((each.retry_after or 0.0 for each in reachable), default=0.0)


def _settle_failure(
    queue: WorkQueue[Request], request: Request, error: BaseException, causes: str, took: float
) -> Outcome:
    outcome = outcome_of(error)
    if outcome is Outcome.TERMINAL_ERROR:
        queue.forget(request)
        log.warning("reconcile failed for good", causes=causes, took=took, error=_text(error))
        return outcome
    if outcome is Outcome.CANCELLED:
        # Ignored where the program stops; where it does not, a request must not be lost.
        queue.add_rate_limited(request, cause="cancelled")
        log.debug("reconcile cancelled", causes=causes, took=took)
        return outcome
    queue.add_rate_limited(request, at_least=retry_after(error), cause="retry")
    failures = queue.num_requeues(request)
    if outcome is Outcome.ERROR:
        log.warning("reconcile failed", causes=causes, took=took, failures=failures, error=_text(error))
    else:
        log.exception("reconcile raised", causes=causes, took=took, failures=failures, error=_text(error))
    return outcome


def _stands_for(error: BaseException, kind: type[ControllerRuntimeError], above: Collection[int] = ()) -> bool:
    """Return whether `error` or one that it was raised from is of a kind, or is a group of such errors alone.

    A member may be raised from its own group, so `above` holds the ids of those that are being looked at.
    """
    cause: BaseException | None = error
    seen = set(above)
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, kind):
            return True
        if isinstance(cause, BaseExceptionGroup) and all(_stands_for(each, kind, seen) for each in cause.exceptions):
            return True
        cause = cause.__cause__
    return False


def _is_expected(error: BaseException) -> bool:
    """Return whether `error` is of the tree that is raised on purpose, or is a group of such errors alone."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_expected(each) for each in error.exceptions)
    return isinstance(error, ControllerRuntimeError)


def _reachable(error: BaseException) -> Iterator[BaseException]:
    """Yield `error`, what it was raised from and the members of groups, each once."""
    left, seen = [error], set[int]()
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        left += [] if each.__cause__ is None else [each.__cause__]
        left += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


def _text(error: BaseException, said: frozenset[int] = frozenset()) -> str:
    """Return the error in one line, with the first members of a group, and its cause unless the error names it."""
    text, cause = f"{type(error).__name__}: {error}", error.__cause__
    said |= {id(error)}
    if isinstance(error, BaseExceptionGroup):
        members = [_text(each, said) for each in error.exceptions[:MEMBERS_SAID] if id(each) not in said]
        text = f"{text}: {'; '.join(members)}"
    if cause is None or id(cause) in said or len(said) > CAUSES_SAID or str(cause) in text:
        return text
    return f"{text} (caused by {_text(cause, said)})"
