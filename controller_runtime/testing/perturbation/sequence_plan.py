# SPDX-License-Identifier: Apache-2.0
"""The plan of the pattern `sequence`, in the form for reports and replay files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from embedded_apiserver.perturbation import Name

_REMEDY = "compute all from the declared state, and remove what is there and is not declared any more"
_REMEDY_ALONE = "refuse such a state in the schema, or report it in the status and do not raise"


@attrs.frozen
class StateSequence:
    """States of one object that are declared one after another.

    Attributes:
        name: The object; None before sequences have been drawn.
        patches: The states, each as a merge patch of the one before, the first of the test's first state; None deletes
            the object.
        number: The number among the sequences of an operator that runs as a command, from 1; otherwise 0.
    """

    name: Name | None = None
    patches: Sequence[Mapping[str, Any] | None] = ()
    number: int = 0

    pattern = "sequence"
    grade = "lawful"

    @property
    def remedy(self) -> str:
        """The change that makes a program correct, in one line."""
        return _REMEDY if len(self.patches) > 1 else _REMEDY_ALONE

    def __str__(self) -> str:
        if self.name is None:
            return "sequences of states"
        if self.number:
            return f"sequence {self.number} of {self.name}"
        states = "one state" if len(self.patches) == 1 else f"{len(self.patches)} states"
        return f"{states} of {self.name}"
