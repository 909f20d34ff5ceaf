# SPDX-License-Identifier: Apache-2.0
"""Competes for a lease, keeps it, gives it back: a loop around `decision.decide`.

Leadership is a deadline, not a flag: it ends by itself when renewals fail, whether or not this loop gets to run,
and it never comes back. It does not release what it has lost: the work that it guarded may still be ending.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from controller_runtime.api.objects import ObjectKey, microtime
from controller_runtime.client.client import Client
from controller_runtime.core.errors import (
    AlreadyExists,
    APIError,
    Conflict,
    ConnectionLost,
    DecodeError,
    LeadershipLost,
    NotFound,
)
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.election.candidate import LeaseCandidate
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.election.decision import Held, Sighting, Step, decide, decide_coordinated, is_vacant
from controller_runtime.election.lease_lock import LeaseLock
from controller_runtime.election.record import LeaseRecord
from controller_runtime.election.term import Term

log = get_logger(__name__)

Write = Callable[[LeaseRecord, float], None]


def _nobody_asks(*_: object) -> None:
    """Nobody wants to be told."""


class LeaderElector:
    """One candidate for one lease. It runs once and leads at most once.

    Args:
        host: What it runs on.
        client: Reaches the API server, past any fence.
        config: Which lease, and how patient.
        on_leading: Called once when it begins to lead.
        on_new_leader: Called with the identity of each leader seen, when it changes, ourselves
            included; empty when nobody leads any more.
        on_yielding: Called once when it shall give way: it renews no more, so end the work, then stop `run`.
        candidate: Stands for us in a coordinated election; runs by itself.

    Attributes:
        name: That of the lease, without its namespace.
        identity: What the lease names it by.
        lock: The lease.
        candidate: As given.
        last_error: Why the last try failed; empty once one has succeeded.
        slow_paths: Renewals for which the lease had to be read again.

    Threads: `run` on one, which also calls back; the rest from any.
    """

    def __init__(
        self,
        host: Host,
        client: Client,
        config: LeaderElectionConfig,
        *,
        on_leading: Callable[[], None] = _nobody_asks,
        on_new_leader: Callable[[str], None] = _nobody_asks,
        on_yielding: Callable[[LeadershipLost], None] = _nobody_asks,
        candidate: LeaseCandidate | None = None,
    ) -> None:
        config = config.named_by(host)
        self.name = config.name
        self.identity = config.identity or ""
        self.lock = LeaseLock(host, client, ObjectKey(config.name, config.namespace), config.labels)
        self.last_error = ""
        self.candidate = candidate
        self.slow_paths = 0
        self._host = host
        self._config = config
        self._on_leading = on_leading
        self._on_new_leader = on_new_leader
        self._on_yielding = on_yielding
        self._is_coordinated = config.coordinated is not None
        # Each is replaced whole by the thread that runs, and read by any.
        self._seen = Sighting(None, host.monotonic())
        self._leader = ""
        self._term: Term | None = None
        self._is_yielding = False
        self._has_ended = False

    @property
    def leader(self) -> str:
        """Who leads, as far as we know; empty for nobody."""
        return self._leader

    @property
    def held(self) -> Held | None:
        """The leadership we have or had, with its fencing token; None before, and after it was given back."""
        term = self._term
        return None if term is None else term.held

    @property
    def stop_timeout(self) -> float:
        """Seconds that `run` should get once its stop is set: a renewal in flight, then the release; or it expires."""
        return 2 * self._config.retry_period

    def is_leader(self) -> bool:
        """True while we lead; cheap enough to ask before each step."""
        term = self._term
        return term is not None and not term.is_over()

    @property
    def term(self) -> Term | None:
        """The leadership we have or had, as it goes on; None before, and after it was given back."""
        return self._term

    def problem(self, tolerance: float = 20.0) -> str:
        """What is wrong, for a health check; empty if nothing is.

        Who leads and does not notice, `tolerance` seconds past the lease's duration, that it did not renew, hangs.
        """
        held = self.held
        if held is None or self._has_ended:
            return ""
        late = self._host.monotonic() - (held.until - self._config.renew_deadline)
        if late <= self._config.lease_duration + tolerance:
            return ""
        return f"lease {self.lock} was not renewed for {late:.1f} s: {self.last_error or 'the elector hangs'}"

    def run(self, stop: Stop) -> None:
        """Compete for the lease, then keep it, until `stop` is set; then give it back.

        A cancelled `stop` means that what leads has not ended: the lease is left to expire.

        Raises:
            LeadershipLost: It led, and does so no more.
        """
        try:
            while not stop.is_set():
                began = self._host.monotonic()
                self._try()
                stop.wait_until(self._next_try(began))
            if self._term is not None and not stop.is_cancelled():
                self._resign(self._term, stop)
        finally:
            self._has_ended = True

    def _next_try(self, began: float) -> float:
        """When to try again: renewals at a steady pace, looks at a jittered one, nothing due missed."""
        now = self._host.monotonic()
        if self._term is not None:
            due = math.inf if self._is_yielding else began + self._config.retry_period
            return min(max(due, now), self._term.held.until)
        # No slower than a leader renews: so what it gives back, or the last that it says, is seen one period later.
        look = max(began + self._config.retry_period / self._host.random.uniform(1.0, self._config.jitter), now)
        return min(look, self._seen.expires_at) if self._seen.expires_at > now else look

    def _try(self) -> None:
        try:
            self._look_and_act()
            self.last_error = ""
        except (APIError, ConnectionLost, DecodeError) as error:
            self.last_error = str(error)
            log.warning("election try failed", lease=self.lock, leading=self.is_leader(), error=error)

    def _look_and_act(self) -> None:
        # A leader knows what the lease says, for it wrote it; but not to whom it shall give way.
        if self._term is None or (self._is_coordinated and not self._is_yielding and self.is_leader()):
            self._look()
        try:
            self._act()
        except (Conflict, AlreadyExists, NotFound):  # somebody else wrote first: see who, and decide again
            self.slow_paths += self._term is not None
            self._look()
            self._act()

    def _look(self) -> None:
        try:
            record: LeaseRecord | None = self.lock.read(self._deadline())
        except NotFound:
            record = None
        self._note(record)

    def _act(self) -> None:
        now = self._host.monotonic()
        seen = self._seen.record or LeaseRecord()
        follow = decide_coordinated if self._is_coordinated else decide
        match follow(self._seen, self.identity, self.held, now):
            case Step.CREATE:
                self._begin(self.lock.create, 0)
            case Step.TAKE:
                self._begin(self.lock.update, seen.transitions + 1)
            case Step.RENEW:
                self._renew(seen)
            case Step.WAIT:
                if self.candidate is not None and is_vacant(self._seen, now):
                    self.candidate.renew()
            case Step.GIVE_BACK:
                self._write(self.lock.update, LeaseRecord.free(microtime(self._host.now()), seen.transitions))
            case Step.YIELD:
                self._yield(seen.preferred)
            case Step.LOST:
                why = f"it is held by {self.leader or 'nobody'}" if self.is_leader() else "its deadline has passed"
                raise self._lost(self.last_error or why)

    def _begin(self, write: Write, transitions: int) -> None:
        """Become the leader; from then on what the lease says is ours."""
        stamp = microtime(self._host.now())
        # Who elected us does not say when.
        sent_at = self._write(write, self._record("" if self._is_coordinated else stamp, transitions))
        term = Term(self._host, transitions, sent_at + self._config.renew_deadline)
        if term.is_over():
            return  # the answer took too long; the next look will find our name and take the lease anew
        self._term = term
        log.info("became leader", lease=self.lock, identity=self.identity, token=transitions)
        self._on_leading()

    def _renew(self, seen: LeaseRecord) -> None:
        term = self._term
        assert term is not None, "only a leader renews"
        sent_at = self._write(self.lock.update, self._record(seen.acquire_time, seen.transitions))
        if not term.extend(sent_at + self._config.renew_deadline):
            raise self._lost("its renewal was answered too late")

    def _yield(self, preferred: str) -> None:
        """Renew no more. What the leadership guards may end until its deadline; then the lease is given back."""
        if not self._is_yielding:
            self._is_yielding = True
            log.info("giving way", lease=self.lock, identity=self.identity, preferred=preferred)
            self._on_yielding(LeadershipLost(f"lease {self.lock} is given up: {preferred} is preferred"))

    def _lost(self, why: str) -> LeadershipLost:
        if self._term is not None:
            self._term.end()
        return LeadershipLost(f"lease {self.lock} is lost: {why}")

    def _resign(self, term: Term, stop: Stop) -> None:
        """Lead no more, now that nothing does which depends on it, and give the lease back."""
        if term.is_over():
            raise self._lost("the deadline passed before it could be given back")
        self._term = None
        log.info("leads no more", lease=self.lock, identity=self.identity)
        deadline = self._host.monotonic() + self._config.retry_period  # a stop does not wait long for a silent server
        if self.candidate is not None:  # before, or we would be elected again
            self.candidate.withdraw(deadline)
        try:
            while self._config.release_on_stop and not stop.is_cancelled() and self._host.monotonic() < deadline:
                if self._release(deadline):
                    return
        except (APIError, ConnectionLost, DecodeError) as error:
            log.warning("lease not released, it will expire", lease=self.lock, error=error)

    def _release(self, deadline: float) -> bool:
        """Blank the lease if it names us at this moment; False if somebody wrote it meanwhile."""
        record = self.lock.read(deadline)
        if record.holder != self.identity:
            return True
        free = LeaseRecord.free(microtime(self._host.now()), record.transitions)
        try:
            self.lock.update(free, deadline)
        except Conflict:
            return False
        self._note(free)
        log.info("released the lease", lease=self.lock, identity=self.identity)
        return True

    def _record(self, acquire_time: str, transitions: int) -> LeaseRecord:
        stamp = microtime(self._host.now())
        strategy = self._seen.record.strategy if self._is_coordinated and self._seen.record is not None else ""
        return LeaseRecord(self.identity, int(self._config.lease_duration), acquire_time, stamp, transitions, strategy)

    def _write(self, write: Write, record: LeaseRecord) -> float:
        """Write `record`; when it was sent, by which leadership counts."""
        sent_at = self._host.monotonic()
        write(record, self._deadline())
        self._note(record)
        return sent_at

    def _deadline(self) -> float:
        """When a request that begins now must have ended: soon, and never after our leadership."""
        soon = self._host.monotonic() + self._config.request_timeout
        return soon if self._term is None else min(soon, self._term.held.until)

    def _note(self, record: LeaseRecord | None) -> None:
        """Remember what the lease says, and tell if the leader is another."""
        self._seen = self._seen.again(record, self._host.monotonic())
        leader = record.holder if record is not None else ""
        if leader != self._leader:
            self._leader = leader
            log.info("leader changed", lease=self.lock, leader=leader)
            self._on_new_leader(leader)
