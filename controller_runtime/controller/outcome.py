# SPDX-License-Identifier: Apache-2.0
"""What the end of a reconcile does to the queue, the counters and the log: the one switch.

Nowhere else in the house is decided what is forgotten, retried or requeued.
"""

from __future__ import annotations

import random

from controller_runtime.controller.counters import Outcome
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.core.errors import APIError, Cancelled, ControllerRuntimeError, TerminalError
from controller_runtime.core.log import get_logger
from controller_runtime.queue.workqueue import WorkQueue

log = get_logger(__name__)


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
        case Cancelled():
            # Ignored where the program stops; where it does not, a request must not be lost.
            queue.add_rate_limited(request, cause="cancelled")
            log.debug("reconcile cancelled", causes=causes, took=took)
            return Outcome.CANCELLED
        case TerminalError():
            queue.forget(request)
            log.warning("reconcile failed for good", causes=causes, took=took, error=_text(end))
            return Outcome.TERMINAL_ERROR
        case ControllerRuntimeError():
            queue.add_rate_limited(request, at_least=_retry_after(end), cause="retry")
            failures = queue.num_requeues(request)
            log.warning("reconcile failed", causes=causes, took=took, failures=failures, error=_text(end))
            return Outcome.ERROR
        case _:
            queue.add_rate_limited(request, cause="retry")
            failures = queue.num_requeues(request)
            log.exception("reconcile raised", causes=causes, took=took, failures=failures, error=_text(end))
            return Outcome.PANIC


def _retry_after(error: BaseException) -> float:
    return (error.retry_after or 0.0) if isinstance(error, APIError) else 0.0


def _text(error: BaseException) -> str:
    """The error in one line, with what caused it unless it says so itself."""
    text, cause = f"{type(error).__name__}: {error}", error.__cause__
    return text if cause is None or str(cause) in text else f"{text} (caused by {_text(cause)})"
