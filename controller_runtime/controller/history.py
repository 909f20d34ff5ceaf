# SPDX-License-Identifier: Apache-2.0
"""The last reconciles of a controller, each with its causes, for people who ask why an object was reconciled."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from controller_runtime.controller.counters import Outcome
from controller_runtime.controller.reconciler import Request
from controller_runtime.queue.causes import Causes
from controller_runtime.queue.turns import Turn


@attrs.frozen
class PastReconcile:
    """One reconcile that has ended.

    Attributes:
        ended: The time of its end, in monotonic seconds.
        took: Its duration in seconds.
        outcome: How it ended.
        causes: Why it was requested.
    """

    ended: float
    took: float
    outcome: Outcome
    causes: Causes


@attrs.frozen
class Why:
    """Why a controller reconciles one request.

    Attributes:
        turns: The current and the next hand-out of the request by the queue, as far as they exist, with their causes.
        past: The reconciles of the request among the last 256 of the controller, the newest first.
    """

    turns: Sequence[Turn[Request]]
    past: Sequence[PastReconcile]
