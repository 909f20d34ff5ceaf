# SPDX-License-Identifier: Apache-2.0
"""Computes the new status of a node from its machine and the status before: a kubelet's setters as pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from controller_runtime.core.version import __version__
from controllers.agent.addresses import addresses
from controllers.agent.conditions import ready_problems, with_pressure, with_ready
from controllers.agent.machine import Machine, NotObserved
from controllers.agent.pressure import SIGNALS
from controllers.agent.resources import allocatable, capacity
from controllers.agent.settings import Settings

Status = dict[str, Any]

AGENT_SUFFIX = "+node-agent"
"""Suffix of the version in a node's status that a node agent posted; a kubelet's has none."""


@attrs.frozen
class Situation:
    """The data from which a new status is computed, in addition to the previous status.

    Attributes:
        machine: The machine as measured now.
        settings: The settings of the agent.
        pressures: Whether each pressure condition holds; None if unknown.
        now: The current time in the API's format.
        stops: Whether the node is shutting down.
    """

    machine: Machine
    settings: Settings
    pressures: Mapping[str, bool | None]
    now: str
    stops: bool = False


class Composed(NamedTuple):
    """A new status, and the reasons for which parts of it could not be updated."""

    status: Status
    problems: list[str]


Setter = Callable[[Situation, Status], Status]
"""Returns its part of the status, from the whole status so far. `NotObserved` leaves that part as it was."""


def compose(before: Mapping[str, Any] | None, situation: Situation) -> Composed:
    """Return the new status of a node. Fields that no setter sets keep their values; `before` is not modified."""
    status, problems = dict(before or {}), []
    for setter in SETTERS:
        try:
            status |= setter(situation, status)
        except NotObserved as error:
            problems.append(str(error))
    return Composed(status, problems)


def _addresses(situation: Situation, status: Status) -> Status:
    return {"addresses": addresses(situation.machine, situation.settings)}


def _resources(situation: Situation, status: Status) -> Status:
    total = capacity(situation.machine, situation.settings, status.get("capacity") or {})
    return {"capacity": total, "allocatable": allocatable(total, situation.machine, situation.settings)}


def _node_info(situation: Situation, status: Status) -> Status:
    machine = situation.machine
    info: dict[str, Any] = {
        "operatingSystem": machine.system,
        "architecture": machine.architecture,
        "kernelVersion": machine.kernel or "Unknown",
        "osImage": machine.os_image or "Unknown",
        "machineID": machine.machine_id or "",
        "systemUUID": machine.system_uuid or "",
        "bootID": machine.boot_id or "",
        "kubeletVersion": f"v{__version__}{AGENT_SUFFIX}",
        "kubeProxyVersion": "",
        "containerRuntimeVersion": "none://",
    }
    if machine.swap:
        info["swap"] = {"capacity": machine.swap}
    return {"nodeInfo": info}


def _pressure(kind: str) -> Setter:
    return lambda situation, status: {
        "conditions": with_pressure(_conditions(status), kind, situation.pressures.get(kind), situation.now)
    }


def _ready(situation: Situation, status: Status) -> Status:
    problems = ready_problems(status.get("capacity") or {}, stops=situation.stops)
    return {"conditions": with_ready(_conditions(status), problems, situation.now)}


def _conditions(status: Status) -> list[dict[str, Any]]:
    return status.get("conditions") or []


SETTERS: Sequence[Setter] = (_addresses, _resources, _node_info, *map(_pressure, SIGNALS), _ready)
"""The setters in a kubelet's order. Ready comes last, because it depends on the capacity."""
