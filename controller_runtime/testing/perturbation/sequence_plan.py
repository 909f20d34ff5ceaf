# SPDX-License-Identifier: Apache-2.0
"""The plan of the pattern `sequence`, as reports and replay files hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from embedded_apiserver.perturbation import Name

_REMEDY = "compute all from the declared state, and remove what is there and is not declared any more"
_REMEDY_ALONE = "refuse such a state in the schema, or report it in the status and do not raise"


@attrs.frozen
class StateSequence:
    """States of one object, declared one after another.

    Attributes:
        name: The object; None until sequences of the story's objects have been drawn.
        patches: The states, each as a merge patch of the one before, the first of the story's first one; None deletes
            the object.
        number: Its number among the sequences of an operator that is perturbed from outside, from 1; otherwise 0.
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
