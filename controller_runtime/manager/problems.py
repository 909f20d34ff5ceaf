# SPDX-License-Identifier: Apache-2.0
"""The problems of a manager's controllers and caches, a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apimachinery.host import Clock
from controller_runtime.cache.informer import Informer
from controller_runtime.controller.controller import Controller

STUCK_AFTER = 600.0
"""Seconds after which a running reconcile makes the process not live. The number is ours, far above usual durations."""

OVERDUE_AFTER = 2.0
"""The multiple of its `reconcile_timeout` after which a running reconcile makes the process not ready.

By then its requests have been refused for a whole timeout, so it hangs in other code.
"""


def stuck_workers(controllers: Sequence[Controller], after: float = STUCK_AFTER) -> Iterator[str]:
    """Yield a line for each controller with a reconcile that has been running for more than `after` seconds."""
    for controller in controllers:
        counters = controller.counters()
        if counters is not None and counters[1].longest_running > after:
            yield f"{controller.name}: a reconcile has been running for {counters[1].longest_running:.0f} s"


def overdue_reconciles(controllers: Sequence[Controller]) -> Iterator[str]:
    """Yield a line for each controller with a reconcile that runs long after its timeout; see `OVERDUE_AFTER`."""
    for controller in controllers:
        counters, timeout = controller.counters(), controller.reconcile_timeout
        if counters is not None and timeout is not None and counters[1].longest_running > OVERDUE_AFTER * timeout:
            took = counters[1].longest_running
            yield f"{controller.name}: a reconcile has been running for {took:.3g} s and may take {timeout:g} s"


def failing_sources(controllers: Sequence[Controller]) -> Iterator[str]:
    """Yield a line for each source whose mapper, predicate or periodic function fails now, with one error."""
    for controller in controllers:
        trouble = controller.trouble()
        for source in () if trouble is None else trouble.sources:
            count, first = source.failing(1)
            if count:
                yield f"{controller.name} fails for {_with_others(first[0], count)}"


def unreadable_objects(controllers: Sequence[Controller]) -> Iterator[str]:
    """Yield a line for each controller with requests that failed because of an unreadable object, with an example."""
    for controller in controllers:
        trouble = controller.trouble()
        count, first = (0, []) if trouble is None else trouble.unreadable.first(1)
        if count:
            yield f"{controller.name} cannot read {_with_others(first[0].text, count)}"


def _with_others(one: object, count: int) -> str:
    return f"{one} (and {count - 1} more)" if count > 1 else str(one)


def problem_of(informer: Informer, clock: Clock) -> str:
    """Return in one line why the cache of `informer` may be out of date; empty if there is no sign of that."""
    because = f": {informer.last_error}" if informer.last_error else ""
    if not informer.has_synced():
        return f"{informer} has no initial list yet{because}"
    reflector = informer.reflector
    silence = clock.monotonic() - reflector.liveness.heard_at
    is_overdue = silence > reflector.patience.overdue
    return f"{informer} has heard nothing for {silence:.0f} s{because}" if is_overdue else ""
