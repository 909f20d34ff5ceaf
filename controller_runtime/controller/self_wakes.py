# SPDX-License-Identifier: Apache-2.0
"""Finds controllers that cause their own or each other's reconciles by their writes, again and again.

Such a program works at full speed for nothing, with a log that looks healthy. It is found by the length of the chain of
reconciles that led to a write, and not by counting reconciles: a hundred pods that change after one write are a short
chain each, and a chain in which any other change took part begins again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable

import attrs

from apimachinery.errors import DecodeError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.log import get_logger
from apimachinery.objects import cached_from_bytes
from controller_runtime.controller.outcome import TIMED
from controller_runtime.controller.reconciler import Request
from controller_runtime.controller.timed_writes import TOLD, TimedWrites
from controller_runtime.controller.written_fields import WrittenFields, place_of
from controller_runtime.core.attempts import current_attempt
from controller_runtime.core.resource_paths import resource_path
from controller_runtime.core.written_versions import DELETED, Chain, RunningReconcile, WrittenVersions
from controller_runtime.queue.causes import PlainCause, PlainKey, PlainVersion, version_of

log = get_logger(__name__)

WATCHED = 20
"""The length from which a chain of reconciles is watched. Work in steps, such as a rollout by a few pods, makes shorter
ones.
"""

MOST_SECONDS = 30.0
"""Seconds after which a watched chain is reported."""

MOST_RECONCILES = 300
"""The length at which a watched chain is reported even before `MOST_SECONDS` have passed."""

QUIET = 3600.0
"""Seconds for which the same controllers and fields are not reported again."""

_KEPT = 100
"""How many of what was found are kept for people; and how many are known to have been told."""

_CHANGED = "changed"
_VERBS = {"POST": "created", "DELETE": "deleted"}

_NONE: frozenset[str] = frozenset()


@attrs.frozen
class SelfWake:
    """A finding: controllers whose writes cause their own or each other's reconciles, without end.

    Attributes:
        controllers: The names of the controllers, sorted.
        request: The request whose reconcile made the last write.
        verb: The last write: created, changed or deleted.
        object: The object of that write, as resource, namespace and name: `configmaps/default/a`.
        fields: The paths of the fields that differ between two consecutive writes; those of the last write if none
            differ.
        are_times: Whether all these fields are times.
        length: The number of consecutive reconciles that only their own writes caused.
        seconds: Seconds from the first of these reconciles to the last.
    """

    controllers: tuple[str, ...]
    request: Request
    verb: str
    object: str
    fields: tuple[str, ...]
    are_times: bool
    length: int
    seconds: float

    def __str__(self) -> str:
        *others, last = self.controllers
        who = f"{', '.join(others)} and {last} wake each other" if others else f"{last} wakes itself"
        whose = "their" if others else "its"
        what = f"{', '.join(self.fields)} of {self.object}" if self.fields and self.verb == _CHANGED else self.object
        times = ", which are times," if self.are_times else ""
        return (
            f"{who}: {self.length} reconciles in a row, in {self.seconds:.3g} s, were caused by nothing but "
            f"{whose} own writes; the last one, of {self.request}, {self.verb} {what}{times} again: write only what "
            "must differ"
        )


class SelfWakes:
    """Watches the writes of a manager's controllers, and reports controllers that cause their own reconciles.

    Args:
        host: The source of the time and the lock.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        self._now = host.monotonic
        self._own = WrittenVersions()
        # Guards everything below. Only writes of watched chains, and of reconciles that time alone caused, take it.
        self._lock = host.lock("self wakes")
        self._fields = WrittenFields()
        self._timed = TimedWrites()
        self._counts: Counter[str] = Counter()
        self._quiet_until: dict[tuple[tuple[str, ...], tuple[str, ...]], float] = {}
        self._found: deque[SelfWake] = deque(maxlen=_KEPT)

    def count(self, controller: str) -> int:
        """Return how many writes of a controller belong to long chains of reconciles that cause each other."""
        with self._lock:
            return self._counts[controller]

    def count_of_times(self, controller: str) -> int:
        """Return how many writes of a controller changed only times, in reconciles that only time (a `requeue_after`, a
        retry, or a try again after a cancellation) caused; see `TimedWrites.wrote`.
        """
        with self._lock:
            return self._timed.counts[controller]

    def found(self) -> list[SelfWake]:
        """Return the last findings of controllers that cause their own reconciles, at most 100, the newest first."""
        return [*reversed(self._found.copy())]  # without the lock: a deque is copied as a whole

    def wrote(self, running: RunningReconcile, request: HTTPRequest, body: bytes) -> None:
        """Record a write of a reconcile; see `WritesWatcher.wrote`."""
        written = _written(request, body)
        if not written:
            return
        controller, of, queue = running.controller, running.request, running.queue
        versions, has_other = versions_of(queue.causes(of), queue.covered(of))
        chain = next_chain(versions, has_other, self._own.chain, controller, self._now())
        is_new = False  # a write that changed nothing causes nothing
        for key, version in written:
            is_new = self._own.note(key, version, chain) or is_new
        if not is_new:
            return
        if chain.length >= WATCHED:
            self._watch(controller, of, chain, request)
        elif not versions and not has_other:
            self._watch_times(controller, request)

    def _watch_times(self, controller: str, request: HTTPRequest) -> None:
        with self._lock:
            found = self._timed.wrote(controller, request)
            if found is None or found.count < TOLD or self._is_quiet(((controller,), ())):
                return
        log.info(str(found))

    def _watch(self, controller: str, of: Request, chain: Chain, request: HTTPRequest) -> None:
        seconds = self._now() - chain.since
        with self._lock:
            self._counts[controller] += 1
            fields, are_times = self._fields.changed(request)
            if chain.length < MOST_RECONCILES and seconds < MOST_SECONDS:
                return
            controllers = tuple(sorted(chain.controllers))
            if self._is_quiet((controllers, fields)):
                return
            verb, place = _VERBS.get(request.method, _CHANGED), place_of(request)
            found = SelfWake(controllers, of, verb, place, fields, are_times, chain.length, seconds)
            self._found.append(found)
        if (attempt := current_attempt()) is not None:
            attempt.note("wakes itself")
        log.warning(str(found))

    def _is_quiet(self, told: tuple[tuple[str, ...], tuple[str, ...]]) -> bool:
        now = self._now()
        if self._quiet_until.get(told, now) > now:
            return True
        if len(self._quiet_until) >= _KEPT:
            self._quiet_until.clear()
        self._quiet_until[told] = now + QUIET
        return False


def versions_of(causes: Iterable[PlainCause], covered: Iterable[PlainVersion]) -> tuple[list[PlainVersion], bool]:
    """Return the object versions that caused a reconcile, and whether it also had a cause that is neither a version nor
    a time.

    If a version caused the reconcile, a `requeue_after` is ignored, because the version most often came first.
    """
    versions = [*covered]
    has_other = False
    for cause in causes:
        if (version := version_of(cause)) is not None:
            versions.append(version)
        else:
            has_other = has_other or cause[0] not in TIMED
    return versions, has_other


def next_chain(
    versions: Iterable[PlainVersion],
    has_other: bool,
    chain_of: Callable[[PlainKey, str], Chain | None],
    controller: str,
    now: float,
) -> Chain:
    """Return the chain of a reconcile: one longer than the shortest chain that caused it, or a new chain.

    Args:
        versions: The versions that caused the reconcile.
        has_other: Whether anything else did.
        chain_of: Returns the chain that led to a version; None for a version of another program.
        controller: The name of the controller.
        now: The time in monotonic seconds.
    """
    shortest: Chain | None = None
    for key, version in () if has_other else versions:
        chain = chain_of(key, version)
        if chain is None:
            return Chain(1, now, _NONE)
        if shortest is None or chain.length < shortest.length:
            shortest = chain
    if shortest is None:
        return Chain(1, now, _NONE)
    length = shortest.length + 1
    return Chain(length, shortest.since, shortest.controllers | {controller} if length >= WATCHED else _NONE)


def _written(request: HTTPRequest, body: bytes) -> list[PlainVersion]:
    """Return the versions that a write made, as far as its answer or its path tells them."""
    if request.query and any(name == "dryRun" for name, _ in request.query):
        return []
    written: list[PlainVersion] = []
    if request.method == "DELETE" and (named := resource_path(request.path)) is not None:
        written.append(((named.name, named.namespace), DELETED))
    try:
        obj = cached_from_bytes(body)
    except DecodeError:  # such as a Status: the answer shows no object
        return written
    if obj.resource_version:
        written.append((obj.plain_key, obj.resource_version))
    return written
