# SPDX-License-Identifier: Apache-2.0
"""Decides what a lease heartbeat does next, from the last answer: pure functions without clock, client or queue.

One renewal, with all that may be necessary for it, is a pass. It has up to three parts: renew the
lease that the last pass ended with; if that fails, or at the start, read the lease and create it if it
is missing; then renew the one that was read. `advance` goes through a pass one request at a time, and
`lease_to_write` builds what is written. `controllers.heartbeat.lease_heartbeat` makes the requests.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import msgspec

from apimachinery.objects import Cached, microtime

TRIES = 5
"""Renewals in a row, without a pause between them, before the lease is read again."""
FIRST_PAUSE = 0.2
"""Seconds to wait after the first failure to read or create the lease; each further failure doubles them."""
LONGEST_PAUSE = 7.0
"""Seconds to which these pauses grow at most."""
JITTER = 0.04
"""The wait between two passes is stretched by up to this fraction of it, and never shortened."""
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
"""No time is later, so a lease that carries this one is renewed with the present time."""


class Ask(enum.Enum):
    """The kinds of requests about the lease."""

    READ = enum.auto()
    CREATE = enum.auto()
    RENEW = enum.auto()


class Reply(enum.Enum):
    """The result of a request."""

    DONE = enum.auto()
    MISSING = enum.auto()
    """The answer to a READ if the lease does not exist."""
    CONFLICT = enum.auto()
    """Another client wrote the lease since we read it; AlreadyExists counts as FAILED."""
    WITHHELD = enum.auto()
    """The answer to a CREATE if the post-process failed, so that nothing was sent."""
    FAILED = enum.auto()
    """Any other error; for a RENEW also a post-process that failed, so that nothing was sent."""


@attrs.frozen
class Answer:
    """The result of a request, with its details.

    Attributes:
        reply: The result.
        lease: The lease in the server's answer; None unless the reply is `Reply.DONE`.
        why: The error, for the log.
        retry_after: Seconds that the server asked the client to wait.
    """

    reply: Reply
    lease: Cached | None = None
    why: str = ""
    retry_after: float = 0.0


class Part(enum.Enum):
    """The parts of a pass (one renewal with its preparation), in their order."""

    RENEW_KNOWN = enum.auto()
    """Renew the lease with which the last pass ended."""
    ENSURE = enum.auto()
    """Read the lease, and create it if it does not exist."""
    RENEW_FOUND = enum.auto()
    """Renew the lease that was read."""


@attrs.frozen
class Heartbeat:
    """The state of a heartbeat; the defaults are for a heartbeat that has not read the lease yet.

    Attributes:
        ask: The request to make next.
        part: The part of the pass to which this request belongs. A READ or CREATE in a part other than ENSURE resolves
            a conflict.
        latest: The lease with which the next pass begins.
        base: The lease on which the next renewal is based.
        tries: Number of renewals of this part that failed.
        pause: Seconds to wait after the next failure to read or create the lease.
    """

    ask: Ask = Ask.READ
    part: Part = Part.ENSURE
    latest: Cached | None = None
    base: Cached | None = None
    tries: int = 0
    pause: float = FIRST_PAUSE


@attrs.frozen
class Step:
    """The consequences of an answer.

    Attributes:
        state: The new state of the heartbeat.
        wait: Seconds that must pass before the next request.
        pass_ends: Whether the pass is over, so that the next request is made after the renew interval.
        failed_again: Whether a renewal failed, not for the first time in this part, so that
            `on_repeated_heartbeat_failure` must be called.
    """

    state: Heartbeat
    wait: float = 0.0
    pass_ends: bool = False
    failed_again: bool = False


def advance(state: Heartbeat, answer: Answer) -> Step:
    """Return what follows from `answer` to the request of `state`."""
    step = _follow(state, answer)
    return step if answer.retry_after <= step.wait else attrs.evolve(step, wait=answer.retry_after)


def _follow(state: Heartbeat, answer: Answer) -> Step:
    match state.ask, answer.reply:
        case Ask.RENEW, Reply.DONE:
            return _end_of_pass(answer.lease)
        case Ask.RENEW, Reply.CONFLICT:
            return Step(attrs.evolve(state, ask=Ask.READ, pause=FIRST_PAUSE))
        case Ask.RENEW, _:
            # `tries` still counts the failures before this one: the first one is not repeated.
            return attrs.evolve(_tried(state, state.base), failed_again=state.tries > 0)
        case _, Reply.DONE:
            return _ensured(state, answer.lease)
        case _, Reply.MISSING:
            return Step(attrs.evolve(state, ask=Ask.CREATE))
        case _, Reply.WITHHELD:
            return _ensured(state, None)  # no pause and no failure: the next pass tries again
        case _:
            pause = min(2 * state.pause, LONGEST_PAUSE)
            return Step(attrs.evolve(state, ask=Ask.READ, pause=pause), wait=state.pause)


def _tried(state: Heartbeat, base: Cached | None) -> Step:
    """Return what follows a renewal that failed; the next one is built on `base`."""
    tries = state.tries + 1
    if tries < TRIES:
        return Step(attrs.evolve(state, ask=Ask.RENEW, base=base, tries=tries))
    if state.part is Part.RENEW_KNOWN:
        return Step(Heartbeat(latest=state.latest))
    return _end_of_pass(state.latest)


def _ensured(state: Heartbeat, lease: Cached | None) -> Step:
    """Return what follows once the lease was read or created, or (None) cannot be created before the next pass."""
    if state.part is not Part.ENSURE:
        return _tried(state, lease)
    if lease is None or state.ask is Ask.CREATE:  # a lease that was just created needs no renewal
        return _end_of_pass(lease)
    return Step(Heartbeat(Ask.RENEW, Part.RENEW_FOUND, latest=lease, base=lease))


def _end_of_pass(latest: Cached | None) -> Step:
    known = Heartbeat(Ask.RENEW, Part.RENEW_KNOWN, latest=latest, base=latest)
    return Step(Heartbeat() if latest is None else known, pass_ends=True)


@attrs.frozen
class LeaseFields:
    """The fields of a lease that its heartbeat writes, except the time.

    Attributes:
        name: Name of the lease.
        namespace: Namespace of the lease.
        holder: Holder identity; written when the lease is created, and not changed by a renewal.
        duration: Seconds for which a renewal is valid; written by every renewal.
    """

    name: str
    namespace: str
    holder: str
    duration: int


def lease_to_write(base: Cached | None, fields: LeaseFields, renew_time: datetime) -> dict[str, Any]:
    """Return the body of a new lease, or of a renewal that keeps the fields of `base` set by others."""
    if base is None:
        lease: dict[str, Any] = {
            "metadata": {"name": fields.name, "namespace": fields.namespace},
            "spec": {"holderIdentity": fields.holder},
        }
    else:
        lease = msgspec.json.decode(base.raw)
    spec = lease.setdefault("spec", {})
    spec["leaseDurationSeconds"] = fields.duration
    spec["renewTime"] = microtime(renew_time)
    return lease


def next_renew_time(now: datetime, last: datetime | None) -> datetime:
    """Return the time for the next renewal: `now`, or a microsecond after `last` if our clock is behind `last`.

    The time must not go back, because a watching client counts a change of the lease as a renewal only if its time is
    later.
    """
    return now if last is None or now >= last or last >= _END_OF_TIME else last + timedelta(microseconds=1)


def renew_time_of(lease: Mapping[str, Any], known: datetime | None) -> datetime | None:
    """Return the later of the time in `lease` and `known`; None if there is neither.

    The time in the lease can be later than our clock, if another process wrote it.
    """
    text = (lease.get("spec") or {}).get("renewTime")
    found = datetime.fromisoformat(text) if text else None
    return max((each for each in (found, known) if each is not None), default=None)
