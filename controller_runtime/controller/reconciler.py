# SPDX-License-Identifier: Apache-2.0
"""What a user writes: a reconciler, and what it may answer."""

from __future__ import annotations

import abc
import math
import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs

from controller_runtime.api.objects import ObjectKey

if TYPE_CHECKING:  # a program that exposes nothing need not import it
    from prometheus_client.metrics_core import Metric


Request = ObjectKey
"""What a reconcile is asked for: the key of an object, under the name that controllers use for it."""


@attrs.frozen
class Result:
    """How a reconcile that did not fail ended: with nothing more to do, or with a time to look again.

    Attributes:
        requeue_after: Seconds after which to reconcile the same request again, unless
            something triggers it sooner; None is only when something does. Zero or less
            is at once.
        jitter: The delay is stretched by a random part of this (0.1: by up to a tenth),
            so that many objects do not come back in the same instant.

    Raises:
        ValueError: A delay that is not finite, or a negative jitter.
    """

    requeue_after: float | None = None
    jitter: float = 0.0

    def __attrs_post_init__(self) -> None:
        if self.requeue_after is not None and not math.isfinite(self.requeue_after):
            raise ValueError(f"requeue_after ({self.requeue_after}) must be finite")
        if not 0.0 <= self.jitter < math.inf:
            raise ValueError(f"jitter ({self.jitter}) must be zero or more")

    def delay(self, chance: random.Random) -> float:
        """Seconds until the next look, jitter included; zero where there is none."""
        return (self.requeue_after or 0.0) * (1.0 + chance.random() * self.jitter)


class Reconciler(abc.ABC):
    """Brings one object, and what hangs on it, to the state it should have.

    An instance is shared by all workers of its controller: it is never called twice at a
    time for one request, but is for different ones.
    """

    __slots__ = ()

    @abc.abstractmethod
    def reconcile(self, request: Request) -> Result:
        """Read the present state, decide, and write what is missing.

        It is told a name, not what happened to it: events are merged, and the object may
        be gone. What it raises is retried with a growing delay, at least the `Retry-After`
        that a server asked for; `TerminalError` is not retried, nor is what is raised from it.
        An `ExceptionGroup` is retried unless all its members are terminal.
        """

    def metrics(self) -> Iterable[Metric]:
        """What it counts beside its reconciles, for whoever scrapes the manager; made with `manager.exposition`.

        Asked on another thread, at any time. Names are its own: two reconcilers must not share one.
        """
        return ()
