# SPDX-License-Identifier: Apache-2.0
"""Tools for tests: a simulated host, an embedded API server, faults, sample objects; see `docs/testing.md`.

Names are imported when they are first used, so that a test that needs only the simulation does not import the server.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller_runtime.client.inprocess import InProcessTransport
    from controller_runtime.testing.cluster import EmbeddedCluster
    from controller_runtime.testing.faults import (
        Answered,
        CutReply,
        CutStream,
        Delayed,
        Fault,
        Faults,
        FaultyTransport,
        LostReply,
        LostRequest,
        Refused,
        SilentStream,
        scripted,
    )
    from controller_runtime.testing.objects import a_lease, a_node, a_pod
    from controller_runtime.testing.panics import ControllersWakeThemselves, ReconcilesPanicked
    from controller_runtime.testing.recording import RecordingTransport
    from controller_runtime.testing.replay.file import replay_file
    from controller_runtime.testing.round_trips import check_round_trips
    from controller_runtime.testing.server_process import APIServerProcess
    from controller_runtime.testing.simulation import Simulation
    from controller_runtime.testing.simulation.real_clock import RealClockWarning
    from controller_runtime.testing.strategies import strategy_of
    from controller_runtime.testing.tcp_proxy import TCPProxy
    from controller_runtime.testing.waiting import eventually

__all__ = [
    "APIServerProcess",
    "Answered",
    "ControllersWakeThemselves",
    "CutReply",
    "CutStream",
    "Delayed",
    "EmbeddedCluster",
    "Fault",
    "Faults",
    "FaultyTransport",
    "InProcessTransport",
    "LostReply",
    "LostRequest",
    "RealClockWarning",
    "ReconcilesPanicked",
    "RecordingTransport",
    "Refused",
    "SilentStream",
    "Simulation",
    "TCPProxy",
    "a_lease",
    "a_node",
    "a_pod",
    "check_round_trips",
    "eventually",
    "replay_file",
    "scripted",
    "strategy_of",
]

# The module of each name; names that are not listed are in `testing.faults`.
_MODULES = {
    "APIServerProcess": "testing.server_process",
    "ControllersWakeThemselves": "testing.panics",
    "EmbeddedCluster": "testing.cluster",
    "InProcessTransport": "client.inprocess",
    "RealClockWarning": "testing.simulation.real_clock",
    "ReconcilesPanicked": "testing.panics",
    "RecordingTransport": "testing.recording",
    "Simulation": "testing.simulation",
    "TCPProxy": "testing.tcp_proxy",
    **dict.fromkeys(("a_lease", "a_node", "a_pod"), "testing.objects"),
    "check_round_trips": "testing.round_trips",
    "eventually": "testing.waiting",
    "replay_file": "testing.replay.file",
    "strategy_of": "testing.strategies",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, and return it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported here, because pytest imports this package, with its plugin, in projects that do not use it.
    from controller_runtime.core.extras import needed_by

    with needed_by(f"controller_runtime.testing.{name}"):
        return getattr(importlib.import_module(f"controller_runtime.{_MODULES.get(name, 'testing.faults')}"), name)


def __dir__() -> list[str]:
    """Return the public names, including those that are not imported yet."""
    return sorted([*globals(), *__all__])
