# SPDX-License-Identifier: Apache-2.0
"""The deletion budgets of a manager: where they are kept, and the Event of a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from apimachinery.errors import DecodeError, UsageError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.client.client import Client
from controller_runtime.client.transport import Transport
from controller_runtime.deletions.limits import DeletionLimits
from controller_runtime.deletions.transport import BudgetTransport
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.unreadable_events import recorder_of

if TYPE_CHECKING:  # a program without an election or a ring should not pay for them
    from controller_runtime.election.elector import LeaderElector
    from controller_runtime.ring.ring import Ring

log = get_logger(__name__)

REASON = "DeletionBudgetExceeded"
"""The reason of the Event about a refused deletion."""

COMPONENT = "deletion-budgets"
"""The component that reports the Event."""


class Limited(Protocol):
    """The parts of a `Manager` that its deletion budgets use."""

    host: Host
    namespace: str
    elector: LeaderElector | None

    @property
    def rings(self) -> list[Ring]:
        """The rings of which this replica is a member; see `Manager.rings`."""

    @property
    def recorders(self) -> list[EventRecorder]:
        """The event recorders of the manager; see `Manager.recorders`."""

    def recorder(self, component: str) -> EventRecorder:
        """Return a new event recorder that runs with the manager; see `Manager.recorder`."""


def limited_client(manager: Limited, sent: Transport) -> tuple[DeletionLimits, Client]:
    """Return the deletion limits of a new manager, still without a budget, and the client that they limit.

    Args:
        manager: The manager.
        sent: Carries the requests of the client.
    """

    def report(record: ObjectKey, message: str) -> None:
        """Queue an Event about the record, which people find by the command in the message."""
        about = {"metadata": {"name": record.name, "namespace": record.namespace}}
        try:
            recorder = recorder_of(COMPONENT, lambda: manager.recorders, manager.recorder)
            recorder.event(about, "Warning", REASON, message, resource=CONFIG_MAPS)
        except (UsageError, ValueError, DecodeError) as why:  # the manager stops
            log.debug("no event about a refused deletion", error=why)

    limits = DeletionLimits(manager.host, lambda: _record_of(manager.elector, manager.rings), report)
    return limits, Client(manager.host, BudgetTransport(manager.host, sent, limits, manager.namespace))


def _record_of(elector: LeaderElector | None, rings: Sequence[Ring]) -> ObjectKey | None:
    if elector is not None:
        return ObjectKey(f"{elector.lock.key.name}-deletions", elector.lock.key.namespace)
    return next((ObjectKey(f"{each.config.name}-deletions", each.config.namespace) for each in rings), None)
