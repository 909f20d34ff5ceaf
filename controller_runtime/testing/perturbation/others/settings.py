# SPDX-License-Identifier: Apache-2.0
"""The settings of all runs of one story."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from apimachinery.objects import ObjectKey
from controller_runtime.testing.perturbation.others.story import Story
from embedded_apiserver import Certificates

_CALM = 3
"""The factor by which rests of runs without a fault are longer: all other runs wait for the states that these
reached.
"""


@attrs.frozen(kw_only=True)
class Settings:
    """The settings of runs.

    Attributes:
        command: The operator's command.
        story: The actions of the user.
        certificates: The certificates of the server.
        quiet: Seconds without a change or computation after which operator and cluster are at rest; three times as many
            in a run without a fault where it waits for no condition, and in its first run at least half of `patience`.
        patience: Seconds within which a start, a condition, a rest or the expected state has to come.
        workloads: True if Deployments, StatefulSets and Jobs get pods that run.
        account: The service account whose permissions the operator has; None for those of an administrator.
    """

    command: Sequence[str]
    story: Story
    certificates: Certificates
    quiet: float = 1.0
    patience: float = 20.0
    workloads: bool = False
    account: ObjectKey | None = None

    @property
    def patient(self) -> Settings:
        """The settings for runs whose rests are as long as those without a fault, so that the user acts no sooner."""
        return attrs.evolve(self, quiet=_CALM * self.quiet)

    def rest(self, *, is_calm: bool, looks_on: bool = False) -> float:
        """Return the seconds without a change after which operator and cluster count as at rest.

        Args:
            is_calm: True in an unperturbed run that waits only for quiet, and for no condition.
            looks_on: True to wait at least half of `patience` if `is_calm`, so that the run shows how long the operator
                may pause before it acts.
        """
        if not is_calm:
            return self.quiet
        return max(_CALM * self.quiet, self.patience / 2) if looks_on else _CALM * self.quiet
