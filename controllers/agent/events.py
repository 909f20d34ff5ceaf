# SPDX-License-Identifier: Apache-2.0
"""The events of a node agent: its start, and changes of its node, with a kubelet's reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apimachinery.objects import AnyObject
from controller_runtime.api.resources import NODES
from controller_runtime.events.recorder import EventRecorder
from controllers.agent.conditions import transitions


class NodeEvents:
    """Records the events of one node. Threads: one at a time."""

    def __init__(self, recorder: EventRecorder, name: str) -> None:
        self._recorder = recorder
        self._name = name
        self._unschedulable = False
        self._rebooted = False

    def started(self, node: AnyObject) -> None:
        """Record an event that the agent starts."""
        self._event(node, "Starting", "starting the node agent")

    def record(self, before: Mapping[str, Any] | None, node: Mapping[str, Any]) -> None:
        """Record the differences between the status `before` and the status of `node`.

        A reboot is recorded at most once, because this process cannot survive one: another client wrote any further
        change of the boot id.
        """
        was, now = before or {}, node["status"]
        for reason in transitions(was.get("conditions") or (), now["conditions"]):
            self._record_status(node, reason)
        unschedulable = bool((node.get("spec") or {}).get("unschedulable"))
        if unschedulable != self._unschedulable:
            self._unschedulable = unschedulable
            self._record_status(node, "NodeNotSchedulable" if unschedulable else "NodeSchedulable")
        last, boot = (each.get("nodeInfo", {}).get("bootID") for each in (was, now))
        if last and boot and last != boot and not self._rebooted:
            self._rebooted = True
            self._event(node, "Rebooted", f"node {self._name} has been rebooted, boot id: {boot}", "Warning")

    def _record_status(self, node: AnyObject, reason: str) -> None:
        self._event(node, reason, f"node {self._name} status is now: {reason}")

    def _event(self, node: AnyObject, reason: str, message: str, type: str = "Normal") -> None:  # noqa: A002
        self._recorder.event(node, type, reason, message, resource=NODES)
