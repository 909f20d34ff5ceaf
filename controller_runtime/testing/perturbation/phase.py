# SPDX-License-Identifier: Apache-2.0
"""The phases of a plan, which is one fault, in one run; each has the data that is valid only in it."""

from __future__ import annotations

from typing import ClassVar

import attrs

from embedded_apiserver.perturbation import Gate


@attrs.frozen
class NotYet:
    """The fault has not happened yet, or there is none."""

    happened: ClassVar[bool] = False


@attrs.frozen
class Holding:
    """A gate stops the watches of a resource from one change on, which may be still to come.

    Attributes:
        gate: The gate.
        happened: True if the fault counts as happened even if no change is stopped at the gate, because the manager has
            restarted and was shown an old state.
    """

    gate: Gate
    happened: bool = False


@attrs.frozen
class Away:
    """The manager was ended at a write or a call, and the next one has not started."""

    happened: ClassVar[bool] = True


@attrs.frozen
class Done:
    """The fault has happened."""

    happened: ClassVar[bool] = True


@attrs.frozen
class Void:
    """The fault cannot be carried out, or only in part, so the run is not judged.

    Attributes:
        reason: The reason, for the report.
    """

    reason: str
    happened: ClassVar[bool] = False


Phase = NotYet | Holding | Away | Done | Void
