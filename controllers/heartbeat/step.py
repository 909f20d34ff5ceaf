# SPDX-License-Identifier: Apache-2.0
"""What a lease heartbeat does next, decided from what it heard last: no clock, no client, no queue.

A pass is: renew the lease we know; if that is in vain (or we know none), make sure that
there is one; then renew that. `advance` walks through it one request at a time, and
`content` is what is written. Around them stands `controllers.heartbeat.lease_heartbeat`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import msgspec

from controller_runtime.api.objects import Cached, microtime

TRIES = 5
"""Renewals in a row, without a pause, before the lease is looked for again."""
FIRST_PAUSE = 0.2
"""Seconds after the first failure to find or make the lease; they double."""
LONGEST_PAUSE = 7.0
JITTER = 0.04
"""The wait between two passes is stretched by up to this part of it, and never shortened."""
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
"""Nothing is later; a lease that says so is renewed with the time it is."""


class Ask(enum.Enum):
    """A request for the lease."""

    READ = enum.auto()
    CREATE = enum.auto()
    RENEW = enum.auto()


class Reply(enum.Enum):
    """What became of a request."""

    DONE = enum.auto()
    MISSING = enum.auto()  # of a READ: there is no lease
    CONFLICT = enum.auto()  # somebody else wrote in between; AlreadyExists is a plain failure
    WITHHELD = enum.auto()  # of a CREATE: the post-process failed, so nothing was sent
    FAILED = enum.auto()  # of a RENEW also: the post-process failed, so nothing was sent


@attrs.frozen
class Answer:
    """A reply with what belongs to it.

    Attributes:
        lease: What the server sent, where it is DONE.
        why: What went wrong, for the log.
        retry_after: Seconds that the server asks to wait.
    """

    reply: Reply
    lease: Cached | None = None
    why: str = ""
    retry_after: float = 0.0


class Part(enum.Enum):
    """The parts of a pass, in their order."""

    RENEW_KNOWN = enum.auto()
    ENSURE = enum.auto()
    RENEW_FOUND = enum.auto()


@attrs.frozen
class Heartbeat:
    """Where a heartbeat stands; the first value is that of one that knows no lease.

    Attributes:
        ask: The request to make now.
        part: Which part of the pass that belongs to. A READ or CREATE of another part than
            ENSURE is there to resolve a conflict.
        latest: The lease with which the next pass would begin.
        base: The lease that the next renewal is built on.
        tries: Renewals of this part that failed.
        pause: Seconds after the next failure to find or make the lease.
    """

    ask: Ask = Ask.READ
    part: Part = Part.ENSURE
    latest: Cached | None = None
    base: Cached | None = None
    tries: int = 0
    pause: float = FIRST_PAUSE


@attrs.frozen
class Step:
    """What follows an answer.

    Attributes:
        state: Where the heartbeat stands now.
        wait: Seconds that must pass before the next request.
        pass_ends: The next request belongs to the next pass, so the renew interval comes first.
        failed_again: This was a repeated failure, of which the component wants to know.
    """

    state: Heartbeat
    wait: float = 0.0
    pass_ends: bool = False
    failed_again: bool = False


def advance(state: Heartbeat, answer: Answer) -> Step:
    """What follows `answer` to the request that `state` asked for."""
    step = _follow(state, answer)
    return step if answer.retry_after <= step.wait else attrs.evolve(step, wait=answer.retry_after)


def _follow(state: Heartbeat, answer: Answer) -> Step:
    match state.ask, answer.reply:
        case Ask.RENEW, Reply.DONE:
            return _end_of_pass(answer.lease)
        case Ask.RENEW, Reply.CONFLICT:
            return Step(attrs.evolve(state, ask=Ask.READ, pause=FIRST_PAUSE))
        case Ask.RENEW, _:
            # The first failure of a part is not yet a repeated one.
            return attrs.evolve(_tried(state, state.base), failed_again=state.tries > 0)
        case _, Reply.DONE:
            return _ensured(state, answer.lease)
        case _, Reply.MISSING:
            return Step(attrs.evolve(state, ask=Ask.CREATE))
        case _, Reply.WITHHELD:
            return _ensured(state, None)  # an answer too: the next try comes with the next pass
        case _:
            pause = min(2 * state.pause, LONGEST_PAUSE)
            return Step(attrs.evolve(state, ask=Ask.READ, pause=pause), wait=state.pause)


def _tried(state: Heartbeat, base: Cached | None) -> Step:
    """One renewal was in vain; the next one is built on `base`."""
    tries = state.tries + 1
    if tries < TRIES:
        return Step(attrs.evolve(state, ask=Ask.RENEW, base=base, tries=tries))
    if state.part is Part.RENEW_KNOWN:
        return Step(Heartbeat(latest=state.latest))
    return _end_of_pass(state.latest)


def _ensured(state: Heartbeat, lease: Cached | None) -> Step:
    """There is a lease, or (None) there cannot be one yet."""
    if state.part is not Part.ENSURE:
        return _tried(state, lease)
    if lease is None or state.ask is Ask.CREATE:  # one that was made just now is fresh
        return _end_of_pass(lease)
    return Step(Heartbeat(Ask.RENEW, Part.RENEW_FOUND, latest=lease, base=lease))


def _end_of_pass(latest: Cached | None) -> Step:
    known = Heartbeat(Ask.RENEW, Part.RENEW_KNOWN, latest=latest, base=latest)
    return Step(Heartbeat() if latest is None else known, pass_ends=True)


@attrs.frozen
class Terms:
    """What a lease shall say, but for its time.

    Attributes:
        holder: Written when the lease is made, and never again.
        duration: Seconds, written each time.
    """

    name: str
    namespace: str
    holder: str
    duration: int


def content(base: Cached | None, terms: Terms, renew_time: datetime) -> dict[str, Any]:
    """The lease to write: a new one, or `base` renewed with all that others have put on it."""
    if base is None:
        lease: dict[str, Any] = {
            "metadata": {"name": terms.name, "namespace": terms.namespace},
            "spec": {"holderIdentity": terms.holder},
        }
    else:
        lease = msgspec.json.decode(base.raw)
    spec = lease.setdefault("spec", {})
    spec["leaseDurationSeconds"] = terms.duration
    spec["renewTime"] = microtime(renew_time)
    return lease


def next_renew_time(now: datetime, last: datetime | None) -> datetime:
    """The time for the next renewal: `now`, unless the clock is behind the `last` one.

    Whoever watches leases takes a renewal for one only if its time is later.
    """
    return now if last is None or now >= last or last >= _END_OF_TIME else last + timedelta(microseconds=1)


def renew_time_of(lease: Mapping[str, Any], known: datetime | None) -> datetime | None:
    """The later of a lease's time and the one `known`; a process before us may have had another clock."""
    text = (lease.get("spec") or {}).get("renewTime")
    found = datetime.fromisoformat(text) if text else None
    return max((each for each in (found, known) if each is not None), default=None)
