# SPDX-License-Identifier: Apache-2.0
"""The interface of a controller's user: the reconciler, and the result that it returns."""

from __future__ import annotations

import abc
import inspect
import math
import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey
from apimachinery.plain_functions import plain

if TYPE_CHECKING:  # a program that serves no metrics need not import it
    from prometheus_client.metrics_core import Metric


Request = ObjectKey
"""The argument of a reconcile: the key of the object to reconcile."""


def by_namespace(request: Request) -> str:
    """Return the namespace of a request, for `Controller(fair_by=by_namespace)`."""
    return request.namespace


@attrs.frozen
class Result:
    """The result of a reconcile that did not fail.

    Attributes:
        requeue_after: Seconds after which the same request is reconciled again, unless a change requests it sooner;
            zero or less for immediately. None: only a change (or another source) requests it again.
        jitter: The delay is stretched by a random part of this (0.1: by up to a tenth), so that many objects are not
            reconciled at the same moment.

    Raises:
        ValueError: `requeue_after` is not finite, or `jitter` is negative or not finite.
    """

    requeue_after: float | None = None
    jitter: float = 0.0

    def __attrs_post_init__(self) -> None:
        if self.requeue_after is not None and not math.isfinite(self.requeue_after):
            raise ValueError(f"requeue_after ({self.requeue_after}) must be finite")
        if not 0.0 <= self.jitter < math.inf:
            raise ValueError(f"jitter ({self.jitter}) must be zero or more")

    def delay(self, chance: random.Random) -> float:
        """Return the seconds until the next reconcile, jitter included; zero if `requeue_after` is None."""
        return (self.requeue_after or 0.0) * (1.0 + chance.random() * self.jitter)


class Reconciler(abc.ABC):
    """Brings one object, and its dependent objects, to the desired state.

    All workers of a controller share one instance. `reconcile` is never called twice at a time for the same key, but
    may run for different keys.
    """

    __slots__ = ()

    @abc.abstractmethod
    def reconcile(self, request: Request) -> Result:
        """Read the current state, decide, and write the differences from the desired state.

        The request is a key, not an event: several events may have become one request, and the object may be deleted by
        now. If this raises, the request is retried after a growing delay, and not before a `Retry-After` that the
        server asked for has passed. A `TemporaryError` may set its own delay. A `TerminalError`, or an error raised
        from one, is not retried. An `ExceptionGroup` is retried unless all its members are terminal.
        """

    @property
    def is_shared(self) -> bool:
        """Whether the reconciler works only for its replica's part of the objects (of a ring), without a leadership."""
        return False

    def metrics(self) -> Iterable[Metric]:
        """Return additional metrics of this reconciler, for the manager's `/metrics`; by default none.

        It is called for each scrape, on another thread, and before the controller starts, too. So it must be quick, and
        may read only thread-safe state. Make the metrics with the classes of `prometheus_client.core`, such as
        `GaugeMetricFamily`. `Endpoints.serve` raises a `UsageError` if the manager has another metric of the same name.
        """
        return ()


class AsyncReconciler(abc.ABC):
    """A `Reconciler` whose `reconcile` is a coroutine, so that hundreds can wait at the same time at little cost.

    The reconciles of a controller share one event loop on a thread of the controller, and one instance; `workers` of
    the controller bounds how many run at a time. Each runs in a separate task, with its own context variables. They
    must not block without `await`, because that blocks all others: use `Manager.async_client` for requests. A coroutine
    is cancelled at its controller's `reconcile_timeout`, and when the process stops and its grace has passed; it must
    not swallow `asyncio.CancelledError`.
    """

    __slots__ = ()

    @abc.abstractmethod
    async def reconcile(self, request: Request) -> Result:
        """Read the current state, decide, and write the differences; see `Reconciler.reconcile`."""

    async def close(self) -> None:  # noqa: B027  most reconcilers have nothing to release
        """Release resources of the event loop, such as an HTTP session; called on the loop after the last reconcile.

        An error that this raises stops the manager, which then raises it.
        """

    def metrics(self) -> Iterable[Metric]:
        """Return additional metrics of this reconciler; see `Reconciler.metrics`."""
        return ()


def check_kind(name: str, reconciler: Reconciler | AsyncReconciler) -> None:
    """Check that `reconcile` is a coroutine function in an `AsyncReconciler`, and a plain one in a `Reconciler`.

    Args:
        name: The controller's name, for the message.
        reconciler: The reconciler.

    Raises:
        UsageError: The function does not fit the class, or `metrics` is a coroutine function.
    """
    function, kind = reconciler.reconcile, type(reconciler).__name__
    plain(f"{name}: metrics", getattr(reconciler, "metrics", None))
    if isinstance(reconciler, AsyncReconciler):
        if not inspect.iscoroutinefunction(function):
            raise UsageError(f"{name}: {kind} is an AsyncReconciler, so its `reconcile` must be an `async def`")
    elif inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"{name}: `reconcile` of {kind} is an `async def`: derive {kind} from AsyncReconciler")
