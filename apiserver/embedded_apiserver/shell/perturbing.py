# SPDX-License-Identifier: Apache-2.0
"""The perturbation that the command's options ask for, without an import of YAML and expressions if there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embedded_apiserver.perturbation.perturbing import Perturbing


def perturbing_of(plan: Path | None, restart: str) -> Perturbing | None:
    """Return the result of `Perturbing.of`, with its errors; None without the options."""
    if plan is None and not restart:
        return None
    from embedded_apiserver.perturbation.perturbing import Perturbing

    return Perturbing.of(plan, restart)
