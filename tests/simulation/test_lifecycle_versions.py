# SPDX-License-Identifier: Apache-2.0
"""A write about a node names the version that it was decided on; otherwise a late write would hit a node that is back.

Random faults rarely show this: one request must be late, and the node return while it is under way. A script shows it.
"""

from __future__ import annotations

from typing import Any

import pytest
from kit.simulation.lifecycle_run import CONTROLLERS, NAMES, run

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.client.patches import PatchType
from controller_runtime.testing.simulation.system_faults import FaultKind, Script, SystemFault
from controllers.node_lifecycle.node_lifecycle import NodeLifecycle
from controllers.node_lifecycle.views import MonitoredNodeView

CALLS = range(16, 26)
"""The controllers' calls among which those are that are about the death: conditions, taints, pods."""

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def _quietly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


def script(call: int) -> Script:
    """Return a script: a node is silent for 30 s, the grace period is 25 s, a request is late until it is back."""
    silence = SystemFault(FaultKind.PAUSE, NAMES[1], 20.0, 30.0)
    return silence, SystemFault(FaultKind.SLOW_REQUEST, CONTROLLERS, call, 10.0)


def unversioned(
    lifecycle: NodeLifecycle,
    node: MonitoredNodeView,
    metadata: dict[str, Any],
    patch: dict[str, Any],
    subresource: str = "",
) -> MonitoredNodeView:
    """In place of `NodeLifecycle._patch`: write without the version that was judged."""
    body = {"metadata": metadata, **patch}
    kind = PatchType.STRATEGIC
    written = lifecycle.client.patch(NODES, ObjectKey(node.name), body, type=kind, subresource=subresource)
    return lifecycle.read_node(written.raw)


def test_a_write_that_comes_late_does_not_strike_a_node_that_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(NodeLifecycle, "_patch", unversioned)
        striking = next(call for call in CALLS if run(0, script=script(call)).invariant == "who lives is not evicted")

    assert run(0, script=script(striking)).message == ""
