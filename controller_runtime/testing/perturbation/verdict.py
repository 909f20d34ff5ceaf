# SPDX-License-Identifier: Apache-2.0
"""The judgement of one perturbed run, and the part of the cluster's state that it is made by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from controller_runtime.testing.perturbation.world import Values
from embedded_apiserver.perturbation import Name

ENOUGH = 0.8
"""The smallest share of objects, and of values, that has to be compared for a run to be judged."""

_SHOWN = 8
"""The most values that are named in one line."""


@attrs.frozen
class Coverage:
    """The part of a cluster's state that can be compared between runs.

    Attributes:
        objects: The number of compared objects, at one rest or summed over the judged rests of a run.
        objects_left: The number of objects that are not compared, because unperturbed runs differ in them.
        values: The number of compared values of objects.
        values_left: The number of values that are not compared.
    """

    objects: int = 0
    objects_left: int = 0
    values: int = 0
    values_left: int = 0

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(*(one + two for one, two in zip(attrs.astuple(self), attrs.astuple(other), strict=True)))

    @property
    def is_enough(self) -> bool:
        """True if enough is compared to say that a run without a complaint has passed."""
        shares = ((self.objects, self.objects_left), (self.values, self.values_left))
        return all(compared >= ENOUGH * (compared + left) for compared, left in shares)

    def __str__(self) -> str:
        objects, values = self.objects + self.objects_left, self.values + self.values_left
        return f"{self.objects} of {objects} objects and {self.values} of {values} values are compared"


@attrs.frozen
class Verdict:
    """The judgement of one perturbed run.

    Attributes:
        complaints: The wrong effects, the most telling first.
        coverage: The part of the state that was compared.
        differs_alone: True if each complaint is a value that differs from the unperturbed runs, which may be by chance.
        differed: The objects and values that are not compared, because they differed before the fault.
    """

    complaints: Sequence[str]
    coverage: Coverage
    differs_alone: bool = False
    differed: Values = frozenset()

    @property
    def is_judged(self) -> bool:
        """False if there is no complaint, but too little was compared to say that the run has passed."""
        return bool(self.complaints) or self.coverage.is_enough


def not_compared(values: Iterable[tuple[Name, str]], reason: str, loose: Sequence[str] = ()) -> str:
    """Return one line with the objects and values that are not compared, and the reason; empty if there are none.

    Args:
        values: The objects and values.
        reason: The reason, for the line.
        loose: Texts for collections whose objects cannot be paired.
    """
    named = [*loose, *(f"{name} {path}".rstrip() for name, path in sorted(values))]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f"not compared, as {reason}: {', '.join(named[:_SHOWN])}{more}" if named else ""
