# SPDX-License-Identifier: Apache-2.0
"""Records of runs, written by hand."""

from __future__ import annotations

from typing import Any

from controller_runtime.testing.perturbation.record import MANAGER, Landed, Run, Sent
from embedded_apiserver.perturbation.names import Name

POD = Name("pods", "default/web")
CLAIM = Name("persistentvolumeclaims", "default/data")


def landed(version: int, name: Name = POD, writer: str = MANAGER, **more: Any) -> Landed:
    """Return a change; the manager's number is its version."""
    return Landed(version, name, writer, version, **{"step": 0, "phase": 0, **more})


def created(version: int, name: Name = POD, writer: str = MANAGER, **more: Any) -> Landed:
    return landed(version, name, writer, creates=True, **more)


def deleted(version: int, name: Name = POD, writer: str = MANAGER, **more: Any) -> Landed:
    return landed(version, name, writer, deletes=True, **more)


def a_run(*changes: Landed, **more: Any) -> Run:
    """Return a run with these changes, of which the manager watched all."""
    sent = [Sent(each.number, "PATCH", str(each.name)) for each in changes if each.writer == MANAGER]
    return Run(sent=sent, landed=[*changes], watched={each.name.resource for each in changes}, **more)
