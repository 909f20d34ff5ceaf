# SPDX-License-Identifier: Apache-2.0
"""The result of one pass, before it is compared and shown."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from controller_runtime.isolation.calls import OutwardCall
from controller_runtime.planning.overlay import PlannedObject, Work


@attrs.frozen
class PlannedFailure:
    """A failed reconcile or mapper of a plan.

    Attributes:
        work: The reconcile.
        error: The error, in one line.
    """

    work: Work
    error: str


@attrs.frozen(kw_only=True)
class PlanResult:
    """The result of a plan.

    Attributes:
        planned: The objects that were written, in the order of their first writes.
        failures: The reconciles that failed.
        refused: The reconciles that could not be planned, each with its first outside call that was refused.
        later: The reconciles that asked to be repeated later, each with the reason.
        reconciled: The number of reconciles of each controller.
        watchers: The names of the controllers that watch each resource, by group and plural.
        not_run: The parts of the program that a plan does not run, in one line each.
    """

    planned: list[PlannedObject]
    failures: list[PlannedFailure]
    refused: list[tuple[Work, OutwardCall]]
    later: list[tuple[Work, str]]
    reconciled: Mapping[str, int]
    watchers: Mapping[tuple[str, str], list[str]]
    not_run: list[str]
