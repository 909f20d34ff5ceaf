# SPDX-License-Identifier: Apache-2.0
"""What tests are written with: the simulated host, the embedded server, helpers.

Names are imported when they are first used: a test that needs only the simulation does
not pay for the server.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller_runtime.testing.cluster import EmbeddedCluster
    from controller_runtime.testing.recording import RecordingTransport
    from controller_runtime.testing.server_process import APIServerProcess
    from controller_runtime.testing.simulation import Simulation

__all__ = ["APIServerProcess", "EmbeddedCluster", "RecordingTransport", "Simulation"]

_HOMES = {
    "APIServerProcess": "server_process",
    "EmbeddedCluster": "cluster",
    "RecordingTransport": "recording",
    "Simulation": "simulation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
