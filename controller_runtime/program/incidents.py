# SPDX-License-Identifier: Apache-2.0
"""The option `--incidents` of a program, and the report of SIGUSR1, which then writes all that is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from controller_runtime.manager.inspection import report
from controller_runtime.manager.manager import Manager

if TYPE_CHECKING:  # a program that records nothing should not pay for it
    from controller_runtime.incidents.options import Incidents


def incidents_of(folder: Path | None) -> Incidents | None:
    """Return the options for recording reconciles into a folder; None if `folder` is None."""
    if folder is None:
        return None
    from controller_runtime.incidents.options import Incidents

    return Incidents(folder=folder)


def reported(manager: Manager) -> str:
    """Return the state of a manager as JSON. If it records reconciles, also write all records to their folder."""
    recorder = manager.incident_recorder
    return report(manager) if recorder is None else f"{report(manager)}\n{recorder.write_all()}"
