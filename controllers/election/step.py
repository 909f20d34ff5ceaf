# SPDX-License-Identifier: Apache-2.0
"""One step of an election: a lease, its candidates and the time in, what to do next out. No clock, no client.

There is no state of an election but the objects themselves, so any number of restarts is
harmless. Around it stands `controllers.election.lease_candidate_election`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import attrs

from controller_runtime.api.objects import microtime
from controllers.election.strategy import STRATEGIES, Candidate, Disagreement, Strategy, strategy_of

AGAIN = 5.0
"""Seconds until an election is looked at again, if nothing happens before."""
WINDOW = timedelta(seconds=5)
"""For so long a candidate may take to answer, and for so long an answer counts."""
HEARD = 2 * WINDOW.total_seconds()
"""Seconds for which an answer counts that we saw come: one of another, who is asked after it, may take a window."""
VALID = timedelta(minutes=30)
"""A candidate that has not renewed itself for longer is none."""
STALE = VALID / 2
"""One that has not for longer than this is asked whether it lives, though nobody needs to be elected."""
LEASE_DURATION = 5
"""Seconds that the elected has to begin; what it writes then has a duration of its own."""


@attrs.frozen
class Lease:
    """What a lease says of an election.

    Attributes:
        duration: Seconds; None if it does not say.
        renewed: None if it does not say.
        unchanged_for: Seconds, by our own clock, for which its holder has not renewed it.
    """

    holder: str = ""
    preferred: str = ""
    strategy: str = ""
    duration: int | None = None
    renewed: datetime | None = None
    unchanged_for: float = 0.0

    def has_expired(self, now: datetime) -> bool:
        """Whether its holder has given up by now.

        Holders count from before they wrote it, and we from after: so this holds however
        wrong their clocks are. Only what looks older than any clock could be wrong needs no watching.
        """
        if self.renewed is None or self.duration is None:
            return True
        duration = timedelta(seconds=self.duration)
        return self.unchanged_for > self.duration or now - self.renewed > duration + VALID

    def is_free(self, now: datetime) -> bool:
        """Whether anybody may be given it."""
        return not self.holder or self.has_expired(now)


class Act(enum.Enum):
    """What to do."""

    NOTHING = "nothing"
    PING = "ping"
    """Ask candidates whether they live."""
    WAIT = "wait"
    """They have been asked."""
    ELECT = "elect"
    """Make the lease, or give it to somebody else."""
    PREFER = "prefer"
    """Ask the holder to give way."""
    RECORD = "record"
    """Write down whose strategy it is, for somebody else to elect by."""


@attrs.frozen
class Problem:
    """Something that people should know.

    Attributes:
        reason: For machines, in one word.
        message: For people.
        candidate: Whose it is; empty if it is the lease's.
        is_wrong: Whether somebody should mend it.
        patience: Seconds that it has to last before it is told.
    """

    reason: str
    message: str
    candidate: str = ""
    is_wrong: bool = True
    patience: float = 0.0


@attrs.frozen
class Decision:
    """What follows from how things stand.

    Attributes:
        act: What to do.
        names: The candidates to ping.
        spec: The fields of the lease to write; None takes one away.
        problems: What stands in the way, or will.
        again: Seconds until the next step; None is when something changes.
    """

    act: Act
    names: tuple[str, ...] = ()
    spec: Mapping[str, Any] = attrs.field(factory=dict)
    problems: tuple[Problem, ...] = ()
    again: float | None = AGAIN


def decide(
    lease: Lease | None,
    candidates: Iterable[Candidate],
    now: datetime,
    strategies: Mapping[str, Strategy] = STRATEGIES,
) -> Decision:
    """What to do about a lease.

    Args:
        lease: What it says; None if there is none.
        candidates: Of this lease, in any order.
        now: By the wall clock.
        strategies: Those we elect by.
    """
    admissible = sorted((c for c in candidates if now - c.renewed <= VALID), key=lambda c: c.name)
    if not admissible:
        return Decision(Act.NOTHING, again=None)
    problems = [*_oddities(lease, admissible, now, strategies)]
    if not _is_needed(lease, admissible, now, strategies):
        return Decision(Act.NOTHING, problems=tuple(problems))
    standings = {c.name: standing(c, now) for c in admissible}
    if asked := tuple(name for name, how in standings.items() if how is Standing.UNKNOWN):
        return Decision(Act.PING, asked, problems=tuple(problems))
    if Standing.ASKED in standings.values():
        return Decision(Act.WAIT, problems=tuple(problems))
    living = [c for c in admissible if standings[c.name] is Standing.LIVES]
    if not living:
        problem = Problem("NoCandidateAnswers", f"no available candidates: none of {len(admissible)} has answered")
        return Decision(Act.NOTHING, problems=(*problems, problem))
    return _vote(lease, living, now, strategies, problems)


class Standing(enum.Enum):
    """What is known of a candidate."""

    LIVES = enum.auto()
    """It has said so just now."""
    UNKNOWN = enum.auto()
    """It is to be asked."""
    ASKED = enum.auto()
    """It may still answer."""
    SILENT = enum.auto()
    """It did not, and is not asked again before it says something by itself."""


def standing(candidate: Candidate, now: datetime) -> Standing:
    """What is known of one candidate: by what we saw, however late and by whatever clock, else by its stamps."""
    if candidate.heard < HEARD:
        return Standing.LIVES
    pinged, renewed = candidate.pinged, candidate.renewed
    is_ahead = renewed > now + WINDOW
    is_fresh = not is_ahead and now - renewed < WINDOW
    since = now - pinged if pinged is not None else None
    # A ping from our future is that of another controller, whose clock was wrong: it tells nothing.
    if since is None or since < -WINDOW:
        return Standing.LIVES if is_fresh else Standing.UNKNOWN
    assert pinged is not None
    has_answered = renewed >= pinged
    if since < WINDOW and (is_ahead or not has_answered):
        return Standing.ASKED
    if is_ahead:  # it cannot be told whether it answered; one vote must fit between two pings
        return Standing.SILENT if since < 3 * WINDOW else Standing.UNKNOWN
    if is_fresh:
        return Standing.LIVES
    return Standing.UNKNOWN if has_answered and since > WINDOW else Standing.SILENT


def _is_needed(
    lease: Lease | None, candidates: Sequence[Candidate], now: datetime, strategies: Mapping[str, Strategy]
) -> bool:
    """Whether it must be asked who lives: nobody leads, somebody better may, or nobody was asked for long."""
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
    strategies: Mapping[str, Strategy],
    problems: Sequence[Problem],
) -> Decision:
    try:
        name = strategy_of(living)
    except Disagreement as error:
        return Decision(Act.NOTHING, problems=(*problems, Problem("StrategiesDisagree", str(error))))
    strategy = strategies.get(name)
    if strategy is None and "/" not in name:  # no server would take it
        return Decision(Act.NOTHING, problems=tuple(problems))
    elected = strategy(living) if strategy is not None else ""
    if elected is None:
        problem = Problem("NobodyCanLead", f"none of {len(living)} candidates can lead by {name}")
        return Decision(Act.NOTHING, problems=(*problems, problem))
    act, spec = _change(lease, name, elected, now)
    return Decision(act, spec=spec, problems=tuple(problems))


def _change(lease: Lease | None, strategy: str, elected: str, now: datetime) -> tuple[Act, dict[str, Any]]:
    """What to write so that `elected` (empty: whoever somebody else elects) leads, or will."""
    spec: dict[str, Any] = {}
    if lease is None:
        spec = {"leaseDurationSeconds": LEASE_DURATION, "renewTime": microtime(now), "strategy": strategy}
        return Act.ELECT, {**spec, "holderIdentity": elected} if elected else spec
    act = Act.NOTHING
    if lease.strategy != strategy:
        act, spec = Act.RECORD, {"strategy": strategy}
    if not elected or lease.holder == elected:
        return act, spec
    if lease.is_free(now):
        spec |= {"holderIdentity": elected, "renewTime": microtime(now), "leaseDurationSeconds": LEASE_DURATION}
        return Act.ELECT, {**spec, "acquireTime": None, "preferredHolder": None}
    if lease.preferred == elected:
        return act, spec
    return Act.PREFER, {**spec, "preferredHolder": elected}


def _oddities(
    lease: Lease | None, candidates: Sequence[Candidate], now: datetime, strategies: Mapping[str, Strategy]
) -> Iterable[Problem]:
    """What people got wrong, whether or not it matters now."""
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
            text = f"strategy {strategy} is not known here: somebody else has to elect the holder"
            yield Problem("ForeignStrategy", text, is_wrong="/" not in strategy)
    if lease is not None and not lease.is_free(now) and lease.holder not in {c.name for c in candidates}:
        text = f"the lease is held by {lease.holder}, which is no candidate for it"
        yield Problem("HolderIsNoCandidate", text, patience=AGAIN)  # who stops withdraws before it lets go
