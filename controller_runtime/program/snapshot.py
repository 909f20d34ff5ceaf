# SPDX-License-Identifier: Apache-2.0
"""The state that a view shows: controllers, objects by condition, the leader, the last events, and panels.

All of it is updated with each change, so that taking a snapshot scans nothing.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import msgspec

from apimachinery.errors import UNREADABLE
from apimachinery.plain_functions import called, plain
from controller_runtime.api.resources import EVENTS, LEASES, Resource
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.store import Delta
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.page.tables import StatusRow, StatusTable
from controller_runtime.program.kinds import KindCounter, KindCounts

if TYPE_CHECKING:  # an extra, which the live view alone needs; and what only some programs have
    from rich.console import RenderableType

    from controller_runtime.ring.ring import Ring

EVENTS_KEPT = 4
"""The number of events that a view shows below its table."""


class _Regarding(msgspec.Struct, gc=False):
    kind: str = ""
    name: str = ""


class _EventView(msgspec.Struct, gc=False):
    type: str = ""
    reason: str = ""
    note: str = ""
    regarding: _Regarding = msgspec.field(default_factory=_Regarding)


_event = msgspec.json.Decoder(_EventView)


def panels_of(make: Callable[[Manager], Sequence[Panel]], manager: Manager) -> Sequence[Panel]:
    """Return the panels that `make` returns for a manager, after `setup`.

    Raises:
        UsageError: `make` is an `async def`, or returned a coroutine.
    """
    return called("panels", plain("panels", make), manager)


class Panel(Protocol):
    """A part of the view that a program adds."""

    @property
    def covers(self) -> Collection[Resource[Any]]:
        """The resources that the panel shows, which are omitted from the table of kinds."""

    def fields(self) -> Mapping[str, object]:
        """Return the current state as fields of a log line; equal fields mean that nothing has changed."""

    def render(self) -> RenderableType:
        """Return the current state for the live view, readable at 80 columns."""


class EventTail:
    """The last few events, as lines of text.

    Threads: `observe` from one at a time; `lines` from any. There is no lock, because appending to a deque and its
        `copy` are atomic, with or without the GIL; iterating over it is not.
    """

    def __init__(self, size: int = EVENTS_KEPT) -> None:
        self._lines: collections.deque[str] = collections.deque(maxlen=size)

    def observe(self, delta: Delta) -> None:
        """Keep an event that was created or updated. Events of the initial list are skipped."""
        if delta.new is None or delta.initial:
            return
        try:
            event = _event.decode(delta.new.raw)
        except UNREADABLE:
            return
        about = f"{event.regarding.kind.lower()}/{event.regarding.name}"
        self._lines.append(f"{event.type} {event.reason} {about}: {event.note}")

    def lines(self) -> list[str]:
        """Return the lines that are kept, oldest first."""
        return [*self._lines.copy()]


@attrs.frozen
class ControllerStatus:
    """The state of one controller at one moment.

    Attributes:
        name: The controller's name.
        reconciles: The number of reconciles that have ended since the start.
        errors: The number of reconciles that failed, and of calls of mappers and predicates that raised.
        queued: The number of requests that wait in the queue.
    """

    name: str
    reconciles: int
    errors: int
    queued: int


@attrs.frozen
class Snapshot:
    """Everything that a view shows, at one moment.

    Attributes:
        taken_at: The time of the snapshot, in monotonic seconds of the host.
        controllers: The controllers of the manager.
        kinds: The counts of objects that the program watches; empty if they are not counted.
        leader: The identity of the leader, as far as this replica knows, or `no replica`; empty without an election,
            and if a panel shows Leases.
        events: The last events as lines, oldest first; empty if events are not watched.
        panels: The parts that the program adds.
        rings: The rings of which this replica is a member, each with the number of slots that it owns.
        ring_lines: A line of text for each ring.
    """

    taken_at: float
    controllers: tuple[ControllerStatus, ...] = ()
    kinds: tuple[KindCounts, ...] = ()
    leader: str = ""
    events: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    rings: tuple[tuple[str, int], ...] = ()
    ring_lines: tuple[str, ...] = ()


def errors_of(controller: Controller) -> int:
    """Return the number of failed reconciles of a controller, and of failed calls of its mappers and predicates."""
    trouble = controller.trouble()
    return controller.errors + (sum(source.errors for source in trouble.sources) if trouble else 0)


class SnapshotSource:
    """Takes snapshots of a manager. Make it after all controllers were added, and before the manager runs.

    Args:
        manager: The manager.
        panels: The parts that the program adds.
        kinds: Whether to count the objects of watched collections, which costs some time for each change.
        events: Whether to watch the events of the cluster. Only for the embedded server: on other clusters a program
            may lack the right.

    Threads: `take` from one at a time; `tables` from any.
    """

    def __init__(self, manager: Manager, panels: Sequence[Panel] = (), *, kinds: bool, events: bool) -> None:
        self._manager = manager
        self._panels = tuple(panels)
        self._counts_kinds = kinds
        self._covered = {EVENTS, *(resource for panel in panels for resource in panel.covers)}
        self._kinds: dict[Informer, KindCounter] = {}
        self._events = EventTail()
        if events:
            manager.informer(EVENTS).add_handler(self._events.observe)
        if kinds:
            for controller in manager.controllers:
                controller.prepare(manager.informers)
        self._count_new_kinds()

    def take(self) -> Snapshot:
        """Return a snapshot of the current state."""
        self._count_new_kinds()
        manager = self._manager
        return Snapshot(
            manager.host.monotonic(),
            tuple(ControllerStatus(c.name, c.reconciles, errors_of(c), c.queued) for c in manager.controllers),
            tuple(counter.count() for counter in self._kinds.values()),
            self._leader(),
            tuple(self._events.lines()),
            self._panels,
            tuple((ring.name, ring.ownership.owned.bit_count()) for ring in manager.rings),
            tuple(_ring_line(ring) for ring in manager.rings),
        )

    def tables(self) -> list[StatusTable]:
        """Return tables of the kinds and of the last events for the status page."""
        kinds = [StatusRow((one.name, one.objects, one.text())) for one in (each.count() for each in self._counters())]
        events = [StatusRow((line,)) for line in reversed(self._events.lines())]
        found = [StatusTable("Objects", ("kind", "objects", "conditions"), kinds)] if kinds else []
        return found + ([StatusTable("Last events of the cluster", ("event",), events)] if events else [])

    def _counters(self) -> list[KindCounter]:
        return [*self._kinds.values()]

    def _leader(self) -> str:
        elector = self._manager.elector
        if elector is None or LEASES in self._covered:  # a panel of leases shows their holders
            return ""
        return elector.leader or "no replica"

    def _count_new_kinds(self) -> None:
        """Count the objects of informers that were made since the last call, and forget those that were released."""
        if not self._counts_kinds:
            return
        present = [informer for informer in self._manager.informers if informer.resource not in self._covered]
        self._kinds = {informer: counter for informer, counter in self._kinds.items() if informer in present}
        for informer in present:
            if informer not in self._kinds:
                self._kinds[informer] = counter = KindCounter(self._manager.host, _name_of(informer))
                informer.add_handler(counter.observe)


def _ring_line(ring: Ring) -> str:
    """Return how many slots each living member of a ring claims, this replica first."""
    counts = ring.member.status.counts()
    own = ring.member.identity
    others = [f"{name} {slots}" for name, slots in sorted(counts.members.items()) if name != own]
    missing = [f"no member {counts.unclaimed}"] if counts.unclaimed else []
    shares = ", ".join([f"this replica {ring.ownership.owned.bit_count()}", *others, *missing])
    return f"{ring.config.name}, epoch {ring.member.epoch}, slots: {shares}"


def _name_of(informer: Informer) -> str:
    narrowed = str(informer).removeprefix(str(informer.resource)).strip()
    return f"{informer.resource.kind} {narrowed}".strip()
