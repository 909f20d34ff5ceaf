# SPDX-License-Identifier: Apache-2.0
"""What a node agent tells people: that it starts, and what has changed of its node, by a kubelet's reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_runtime.api.objects import AnyObject
from controller_runtime.api.resources import NODES
from controller_runtime.events.recorder import EventRecorder
from controllers.agent.conditions import transitions


class NodeEvents:
    """Tells about one node. Threads: one at a time."""

    def __init__(self, recorder: EventRecorder, name: str) -> None:
        self._recorder = recorder
        self._name = name
        self._unschedulable = False
        self._rebooted = False

    def started(self, node: AnyObject) -> None:
        """The agent begins."""
        self._event(node, "Starting", "starting the node agent")

    def tell(self, before: Mapping[str, Any] | None, node: Mapping[str, Any]) -> None:
        """What differs between a status and the one that `node` has now; a reboot once in a program's life."""
        was, now = before or {}, node["status"]
        for reason in transitions(was.get("conditions") or (), now["conditions"]):
            self._status_is(node, reason)
        unschedulable = bool((node.get("spec") or {}).get("unschedulable"))
        if unschedulable != self._unschedulable:
            self._unschedulable = unschedulable
            self._status_is(node, "NodeNotSchedulable" if unschedulable else "NodeSchedulable")
        last, boot = (each.get("nodeInfo", {}).get("bootID") for each in (was, now))
        if last and boot and last != boot and not self._rebooted:
            self._rebooted = True
            self._event(node, "Rebooted", f"node {self._name} has been rebooted, boot id: {boot}", "Warning")

    def _status_is(self, node: AnyObject, reason: str) -> None:
        self._event(node, reason, f"node {self._name} status is now: {reason}")

    def _event(self, node: AnyObject, reason: str, message: str, type: str = "Normal") -> None:  # noqa: A002
        self._recorder.event(node, type, reason, message, resource=NODES)
