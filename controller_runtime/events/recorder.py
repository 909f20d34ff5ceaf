# SPDX-License-Identifier: Apache-2.0
"""The recorder: takes occurrences from any thread without waiting, and writes events on a thread of its own.

A caller is neither delayed nor told of a failure to write: an occurrence that cannot be queued
or written is counted and dropped.
"""

from __future__ import annotations

import enum
from collections import deque
from typing import Any

from apimachinery.host import Host
from apimachinery.names import qualified_name_errors, subdomain_errors
from apimachinery.objects import AnyObject
from apimachinery.plain_functions import synchronous
from apimachinery.stop import Stop
from controller_runtime.api.references import Reference, reference_to
from controller_runtime.api.resources import Kind
from controller_runtime.client.client import Client
from controller_runtime.events.counting import CountingCorrelator
from controller_runtime.events.occurrence import (
    Correlator,
    Occurrence,
    OccurrenceFate,
    Reporter,
    SpamKey,
    Write,
    by_object,
)
from controller_runtime.events.sender import Sender
from controller_runtime.events.series import SeriesCorrelator
from controller_runtime.events.spam import SpamFilter

QUEUED = 1000
"""The number of occurrences that may wait to be written; more are dropped."""

DRAIN = 5.0
"""Seconds for which a recorder goes on writing after a stop."""

_WORD = 128
"""Bytes of a reason or an action, at most; a limit of the API server."""
_NOTE = 1024
"""Bytes of a message, at most; a limit of the API server."""


class EventAPI(enum.Enum):
    """The API to which events are written; the server shows each event in both."""

    EVENTS = enum.auto()
    """events.k8s.io/v1: repetitions become a series, whose count is written every half hour."""

    CORE = enum.auto()
    """core/v1, as kubelets use it: repetitions are counted at once; many that differ in their message are combined."""


class EventRecorder:
    """Writes Kubernetes events, which inform the people who run a cluster about its objects.

    The role of the program needs `create` and `patch` of `events`, in the groups `events.k8s.io` and core.

    Args:
        host: The source of time, locks and randomness.
        client: Writes the events.
        component: The reporter: the controller's name, with a DNS prefix if it is not Kubernetes' own.
        api: The API to write to.
        spam_key: Returns the key of an occurrence. Occurrences with equal keys share a limit of 25 writes at once, then
            one in 300 seconds. By default the key is the object.

    Raises:
        ValueError: `component` is not a qualified name.

    Threads: any for `event` and `counts`; `run` is for one.
    """

    def __init__(
        self,
        host: Host,
        client: Client,
        *,
        component: str,
        api: EventAPI = EventAPI.EVENTS,
        spam_key: SpamKey = by_object,
    ) -> None:
        key_of = synchronous(f"{component}: spam_key", spam_key)
        if problems := qualified_name_errors(component):
            raise ValueError(f"component {component!r}: {problems[0]}")
        self.component = component
        self.name = f"events/{component}"
        self._host = host
        self._client = client
        reporter = Reporter(controller=component, instance=f"{component}-{host.name}"[:_WORD], node=host.name)
        # Only the thread of `run` uses it.
        self._correlator: Correlator
        match api:
            case EventAPI.EVENTS:
                self._correlator = SeriesCorrelator(reporter, SpamFilter(key_of))
            case EventAPI.CORE:
                self._correlator = CountingCorrelator(reporter, SpamFilter(key_of))
        # Guards the three fields below; `run` waits on it.
        self._condition = host.condition(self.name)
        self._waiting: deque[Occurrence] = deque()
        self._is_closed = False
        self._counts = dict.fromkeys(OccurrenceFate, 0)

    def event(
        self,
        obj: AnyObject,
        type: str,  # noqa: A002 (the field's word)
        reason: str,
        message: str,
        *,
        action: str = "",
        resource: Kind[Any] | None = None,
        field_path: str = "",
    ) -> None:
        """Queue an event about `obj`, and return before it is written.

        With `EventAPI.EVENTS` an event with the same object, type, reason and action as one of the last minutes
        continues its series, and replaces the message of the series. So use a different reason or action for each thing
        that people should read. With `EventAPI.CORE` a different message is a new event.

        Args:
            obj: A `Cached`, a dict, a model, or a view that declares metadata.
            type: `Normal` or `Warning`.
            reason: The reason, in one CamelCase word, for programs.
            message: The message for people; cut after 1024 bytes.
            action: The action that was taken or tried, in one CamelCase word; by default `reason`.
            resource: The object's collection; needed if the object does not contain its kind.
            field_path: The part of the object that the event is about, such as `spec.containers{web}`; empty for the
                whole.

        Raises:
            ValueError: The server would refuse the event: `type` is not `Normal` or `Warning`, or `reason` or `action`
                is empty or longer than 128 bytes. Or the kind of `obj` is unknown.
        """
        _refuse_what_a_server_would(type, reason, action or reason)
        regarding = reference_to(obj, resource, field_path=field_path)
        occurrence = Occurrence(
            regarding=regarding,
            type=type,
            reason=reason,
            action=action or reason,
            note=message.encode(errors="replace")[:_NOTE].decode(errors="ignore"),
            name=self._name_for(regarding),
            time=self._host.now(),
            at=self._host.monotonic(),
        )
        with self._condition:
            if self._is_closed or len(self._waiting) >= QUEUED:
                self._counts[OccurrenceFate.DROPPED] += 1
            else:
                self._waiting.append(occurrence)
                self._condition.notify()

    def counts(self) -> dict[OccurrenceFate, int]:
        """Return the numbers of recorded events and of their writes so far, by what happened to them."""
        with self._condition:
            return self._counts.copy()

    def run(self, stop: Stop) -> None:
        """Write events until `stop` is set; then write the remaining ones, for at most `DRAIN` seconds.

        A write that the server does not answer is tried 12 times, about 10 seconds apart.
        """
        sender = Sender(self._host, self._client, stop)
        stop.on_set(self._wake)
        while not stop.is_set():
            occurrence = self._next(stop)
            now = self._host.monotonic() if occurrence is None else occurrence.at
            for write in self._decide(now, occurrence):
                self._count(sender.send(write))
        self._drain(sender, stop)

    def _next(self, stop: Stop) -> Occurrence | None:
        """Wait for the next occurrence and return it; None when a write is due or `stop` is set."""
        due_at = self._correlator.next_due()
        with self._condition:
            while not stop.is_set():
                if self._waiting:
                    return self._waiting.popleft()
                if due_at is not None and self._host.monotonic() >= due_at:
                    break
                self._condition.wait_until(due_at)
            return None

    def _decide(self, now: float, occurrence: Occurrence | None) -> list[Write]:
        writes = self._correlator.due(now)
        if occurrence is None:
            return writes
        decision = self._correlator.observe(occurrence)
        if isinstance(decision, Write):
            return [*writes, decision]
        self._count(decision)
        return writes

    def _drain(self, sender: Sender, stop: Stop) -> None:
        with self._condition:
            self._is_closed = True
            left = [*self._waiting]
            self._waiting.clear()
        writes = [write for occurrence in left for write in self._decide(occurrence.at, occurrence)]
        deadline = self._host.monotonic() + DRAIN
        for write in [*writes, *self._correlator.close()]:
            has_time = self._host.monotonic() < deadline and not stop.is_cancelled()
            self._count(sender.send(write) if has_time else OccurrenceFate.FAILED)

    def _count(self, fate: OccurrenceFate) -> None:
        with self._condition:
            self._counts[fate] += 1

    def _wake(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def _name_for(self, regarding: Reference) -> str:
        suffix = f"{self._host.random.getrandbits(64):016x}"
        name = f"{regarding.name}.{suffix}"
        # Some kinds allow names that are not valid for an event.
        return f"{regarding.kind.lower()}.{suffix}" if subdomain_errors(name) else name


def _refuse_what_a_server_would(type: str, reason: str, action: str) -> None:  # noqa: A002 (the field's word)
    if type not in ("Normal", "Warning"):
        raise ValueError(f"the type of an event must be Normal or Warning, not {type!r}")
    for word in (reason, action):
        if not 0 < len(word.encode()) <= _WORD:
            raise ValueError(f"the reason and the action of an event need 1 to {_WORD} bytes, not {word!r}")
