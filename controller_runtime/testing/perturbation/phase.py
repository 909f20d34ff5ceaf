# SPDX-License-Identifier: Apache-2.0
"""The phases of a plan in one run, each with the data that is valid only in it."""

from __future__ import annotations

from typing import ClassVar

import attrs

from embedded_apiserver.perturbation import Gate


@attrs.frozen
class NotYet:
    """The plan is still to happen, or there is none."""

    happened: ClassVar[bool] = False


@attrs.frozen
class Holding:
    """Watches stand still at a gate.

    Attributes:
        gate: The gate.
        happened: Whether the plan counts as carried out even if no change comes to the gate, because the manager has
            begun again and been shown an old state.
    """

    gate: Gate
    happened: bool = False


@attrs.frozen
class Away:
    """The manager has ended at a write, and the next one has not begun."""

    happened: ClassVar[bool] = True


@attrs.frozen
class Done:
    """The plan has been carried out."""

    happened: ClassVar[bool] = True


@attrs.frozen
class Void:
    """The plan cannot be carried out to its end, so the run shows nothing.

    Attributes:
        reason: The reason, for the report.
    """

    reason: str
    happened: ClassVar[bool] = False


Phase = NotYet | Holding | Away | Done | Void
