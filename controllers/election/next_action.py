# SPDX-License-Identifier: Apache-2.0
"""Decides the next action of an election from its lease, its candidates and the time, as a pure function.

The objects themselves are the whole state of an election, so the controller may be restarted at any time.
`controllers.election.lease_candidate_election` reads the objects and carries the actions out.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import attrs

from apimachinery.objects import microtime
from controllers.election.strategy import STRATEGIES, Candidate, Disagreement, ElectionStrategy, strategy_of

AGAIN = 5.0
"""Seconds until the next step of an election if nothing changes before, as upstream."""
WINDOW = timedelta(seconds=5)
"""For how long a candidate may take to answer a ping, and for how long its answer counts; upstream's 5 s."""
SEEN = 2 * WINDOW.total_seconds()
"""Seconds for which a renewal counts that we saw ourselves. It is two windows, because another candidate that is
pinged after this one may take a whole window to answer."""
VALID = timedelta(minutes=30)
"""A candidate that has not been renewed for longer takes part in no election."""
STALE = VALID / 2
"""A candidate that has not been renewed for longer is pinged even if no election is needed."""
LEASE_DURATION = 5
"""Seconds within which an elected candidate has to begin; its own renewals then set another duration."""


@attrs.frozen
class Lease:
    """The properties of a lease on which an election depends.

    Attributes:
        holder: The identity of the holder; empty if there is none.
        preferred: The candidate to which the holder should yield; empty if there is none.
        strategy: The election strategy in the lease; empty if it is not part of a coordinated election yet.
        duration: Seconds for which a renewal is valid; None if the lease has no duration.
        renewed: Wall time of the last renewal, by the holder's clock; None if the lease has none.
        unchanged_for: Seconds, by our monotonic clock, for which the holder has not renewed the lease.
    """

    holder: str = ""
    preferred: str = ""
    strategy: str = ""
    duration: int | None = None
    renewed: datetime | None = None
    unchanged_for: float = 0.0

    def has_expired(self, now: datetime) -> bool:
        """Return whether the holder's leadership is over.

        The holder measures the duration from a time before its write, this controller from the later time at which it
        saw the write. So the result is right however wrong the holder's wall clock is. A lease that was not watched for
        its whole duration counts as expired only if it is older than any plausible clock error (`VALID`); one without a
        renewal time or a duration always counts as expired.
        """
        if self.renewed is None or self.duration is None:
            return True
        duration = timedelta(seconds=self.duration)
        return self.unchanged_for > self.duration or now - self.renewed > duration + VALID

    def is_free(self, now: datetime) -> bool:
        """Return whether the lease may be given to another candidate: it has no holder, or has expired."""
        return not self.holder or self.has_expired(now)


class ElectionAction(enum.Enum):
    """The controller's next action for a lease."""

    NOTHING = "nothing"
    """Nothing needs to be done."""

    PING = "ping"
    """Ask candidates to show that they are alive, by a renewal."""

    WAIT = "wait"
    """Wait for the answers to earlier pings."""

    ELECT = "elect"
    """Create the lease, or write another holder into it."""

    PREFER = "prefer"
    """Ask the holder to give way to another candidate."""

    RECORD = "record"
    """Write only the strategy into the lease, so that another controller can elect by it."""


@attrs.frozen
class Problem:
    """A problem that is reported in the log and as an event.

    Attributes:
        reason: The reason of the event: one word in CamelCase.
        message: The text for people.
        candidate: The name of the candidate that has the problem; empty for a problem of the lease.
        is_wrong: Whether it is reported as a warning, because something must be corrected.
        patience: Seconds that the problem must last before it is reported.
    """

    reason: str
    message: str
    candidate: str = ""
    is_wrong: bool = True
    patience: float = 0.0


@attrs.frozen
class Decision:
    """The next action of an election.

    Attributes:
        action: The action.
        names: The candidates to ping.
        spec: The fields of the lease to write; None removes a field.
        problems: Problems that prevent, or will prevent, the election of a leader.
        again: Seconds until the next step; None to wait for the next change of an object.
    """

    action: ElectionAction
    names: tuple[str, ...] = ()
    spec: Mapping[str, Any] = attrs.field(factory=dict)
    problems: tuple[Problem, ...] = ()
    again: float | None = AGAIN


def decide(
    lease: Lease | None,
    candidates: Iterable[Candidate],
    now: datetime,
    strategies: Mapping[str, ElectionStrategy] = STRATEGIES,
) -> Decision:
    """Return the next action of an election.

    Args:
        lease: The lease; None if it does not exist.
        candidates: The candidates of the lease, in any order.
        now: The current time of the wall clock.
        strategies: The election strategies by name.
    """
    admissible = sorted((c for c in candidates if now - c.renewed <= VALID), key=lambda c: c.name)
    if not admissible:
        return Decision(ElectionAction.NOTHING, again=None)
    problems = [*_problems(lease, admissible, now, strategies)]
    if not _is_needed(lease, admissible, now, strategies):
        return Decision(ElectionAction.NOTHING, problems=tuple(problems))
    states = {c.name: liveness(c, now) for c in admissible}
    if unknown := tuple(name for name, state in states.items() if state is Liveness.UNKNOWN):
        return Decision(ElectionAction.PING, unknown, problems=tuple(problems))
    if Liveness.ASKED in states.values():
        return Decision(ElectionAction.WAIT, problems=tuple(problems))
    living = [c for c in admissible if states[c.name] is Liveness.LIVES]
    if not living:
        problem = Problem("NoCandidateAnswers", f"no available candidates: none of {len(admissible)} has answered")
        return Decision(ElectionAction.NOTHING, problems=(*problems, problem))
    return _vote(lease, living, now, strategies, problems)


class Liveness(enum.Enum):
    """Whether a candidate is known to be alive."""

    LIVES = enum.auto()
    """It was renewed just now."""

    UNKNOWN = enum.auto()
    """It has to be pinged."""

    ASKED = enum.auto()
    """It was pinged, and may still answer."""

    SILENT = enum.auto()
    """It did not answer, and is not pinged again before it is renewed."""


def liveness(candidate: Candidate, now: datetime) -> Liveness:
    """Return whether a candidate is known to be alive.

    A renewal that this process has seen in the last `SEEN` seconds counts regardless of its timestamp. Otherwise the
    timestamps of the last ping and the last renewal decide, which come from other clocks.
    """
    if candidate.seen_ago < SEEN:
        return Liveness.LIVES
    pinged, renewed = candidate.pinged, candidate.renewed
    is_ahead = renewed > now + WINDOW
    is_fresh = not is_ahead and now - renewed < WINDOW
    since = now - pinged if pinged is not None else None
    # A ping in our future was written by another controller with a wrong clock, so it tells nothing.
    if since is None or since < -WINDOW:
        return Liveness.LIVES if is_fresh else Liveness.UNKNOWN
    assert pinged is not None
    has_answered = renewed >= pinged
    if since < WINDOW and (is_ahead or not has_answered):
        return Liveness.ASKED
    if is_ahead:  # whether it has answered is unknown; pinging it at every step would leave no time for a vote
        return Liveness.SILENT if since < 3 * WINDOW else Liveness.UNKNOWN
    if is_fresh:
        return Liveness.LIVES
    return Liveness.UNKNOWN if has_answered and since > WINDOW else Liveness.SILENT


def _is_needed(
    lease: Lease | None, candidates: Sequence[Candidate], now: datetime, strategies: Mapping[str, ElectionStrategy]
) -> bool:
    """Return whether an election is needed: no leader, a better candidate, or a candidate that was silent for long."""
    if lease is None or lease.is_free(now) or any(now - c.renewed > STALE for c in candidates):
        return True
    try:
        strategy = strategies.get(strategy_of(candidates))
    except Disagreement:
        return False
    best = strategy(candidates) if strategy is not None else None
    return best is not None and best != lease.holder


def _vote(
    lease: Lease | None,
    living: Sequence[Candidate],
    now: datetime,
    strategies: Mapping[str, ElectionStrategy],
    problems: Sequence[Problem],
) -> Decision:
    try:
        name = strategy_of(living)
    except Disagreement as error:
        return Decision(ElectionAction.NOTHING, problems=(*problems, Problem("StrategiesDisagree", str(error))))
    strategy = strategies.get(name)
    if strategy is None and "/" not in name:  # the server refuses a lease with such a strategy
        return Decision(ElectionAction.NOTHING, problems=tuple(problems))
    elected = strategy(living) if strategy is not None else ""
    if elected is None:
        problem = Problem("NobodyCanLead", f"none of {len(living)} candidates can lead by {name}")
        return Decision(ElectionAction.NOTHING, problems=(*problems, problem))
    action, spec = _change(lease, name, elected, now)
    return Decision(action, spec=spec, problems=tuple(problems))


def _change(lease: Lease | None, strategy: str, elected: str, now: datetime) -> tuple[ElectionAction, dict[str, Any]]:
    """Return the action and the fields of the lease that make `elected` the leader, or ask the holder to give way.

    An empty `elected` leaves the holder to another controller, which knows the strategy.
    """
    spec: dict[str, Any] = {}
    if lease is None:
        spec = {"leaseDurationSeconds": LEASE_DURATION, "renewTime": microtime(now), "strategy": strategy}
        return ElectionAction.ELECT, {**spec, "holderIdentity": elected} if elected else spec
    action = ElectionAction.NOTHING
    if lease.strategy != strategy:
        action, spec = ElectionAction.RECORD, {"strategy": strategy}
    if not elected or lease.holder == elected:
        return action, spec
    if lease.is_free(now):
        spec |= {"holderIdentity": elected, "renewTime": microtime(now), "leaseDurationSeconds": LEASE_DURATION}
        return ElectionAction.ELECT, {**spec, "acquireTime": None, "preferredHolder": None}
    if lease.preferred == elected:
        return action, spec
    return ElectionAction.PREFER, {**spec, "preferredHolder": elected}


def _problems(
    lease: Lease | None, candidates: Sequence[Candidate], now: datetime, strategies: Mapping[str, ElectionStrategy]
) -> Iterable[Problem]:
    """Yield problems in the objects, whether or not they matter at this step."""
    for each in candidates:
        if not each.is_valid and each.strategy in strategies:
            text = f"binaryVersion {each.binary!r} and emulationVersion {each.emulation!r} must both be versions"
            yield Problem("UnreadableVersion", f"{text}: it cannot be elected", each.name)
    try:
        strategy = strategy_of(candidates)
    except Disagreement as error:
        yield Problem("StrategiesDisagree", str(error))
    else:
        if strategy not in strategies:
            text = f"strategy {strategy} is not known here: another controller has to elect the holder"
            yield Problem("ForeignStrategy", text, is_wrong="/" not in strategy)
    if lease is not None and not lease.is_free(now) and lease.holder not in {c.name for c in candidates}:
        text = f"the lease is held by {lease.holder}, which is not a candidate for it"
        # Normal for a moment: a leader that stops deletes its candidate before it blanks the lease.
        yield Problem("HolderIsNoCandidate", text, patience=AGAIN)
