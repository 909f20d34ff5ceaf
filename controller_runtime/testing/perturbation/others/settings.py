# SPDX-License-Identifier: Apache-2.0
"""The settings of all runs of one story."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from apimachinery.objects import ObjectKey
from controller_runtime.testing.perturbation.others.story import Story
from embedded_apiserver import Certificates

_CALM = 3
"""So much longer is each rest of a calm run: all other runs wait at each rest for the state that it was in."""


@attrs.frozen(kw_only=True)
class Settings:
    """How runs are made.

    Attributes:
        command: The operator's command.
        story: The acts of the user.
        certificates: The certificates of the server.
        quiet: Seconds without a change after which the world is at rest; three times as many in a calm run.
        patience: Seconds for which a rest is waited for.
        workloads: Whether Deployments, StatefulSets and Jobs have pods that run.
        account: The service account whose rights the operator has; None for those of an administrator.
    """

    command: Sequence[str]
    story: Story
    certificates: Certificates
    quiet: float = 1.0
    patience: float = 20.0
    workloads: bool = False
    account: ObjectKey | None = None

    def rest(self, *, is_calm: bool, looks_on: bool = False) -> float:
        """Return the seconds without a change after which the world is at rest.

        Args:
            is_calm: True for a rest of a calm run that waits for quiet alone.
            looks_on: True for one that shows how long the operator may pause before it acts.
        """
        if not is_calm:
            return self.quiet
        return max(_CALM * self.quiet, self.patience / 2) if looks_on else _CALM * self.quiet
