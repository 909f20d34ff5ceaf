# SPDX-License-Identifier: Apache-2.0
"""Competes for a lease, renews it and gives it back: a loop around the pure functions of `decision`.

The elector is a state machine: `state.py` has its states and the changes between them. Leadership is a
deadline, not a flag: it ends by itself when renewals fail, whether or not this loop gets to run, and a lost
leadership never comes back. A lost lease is not released, because the work that it guarded may still be ending.
"""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.errors import AlreadyExists, APIError, Conflict, ConnectionLost, DecodeError, LeadershipLost, NotFound
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey, microtime
from apimachinery.stop import Stop
from apimachinery.texts import kept_text
from controller_runtime.client.client import Client
from controller_runtime.election.candidate import LeaseCandidate
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.election.decision import Action, HeldLease, Sighting, decide, decide_coordinated, is_vacant
from controller_runtime.election.lease_lock import LeaseLock
from controller_runtime.election.record import LeaseRecord
from controller_runtime.election.release import release
from controller_runtime.election.state import TRANSITIONS, Ended, Leading, Resigned, State, Waiting, Yielding, term_of
from controller_runtime.election.term import Term

log = get_logger(__name__)

Write = Callable[[LeaseRecord, float], None]


def _ignore(*_: object) -> None:
    """Do nothing: the default of a callback."""


class LeaderElector:
    """Competes for one lease. It runs once and leads at most once.

    Args:
        host: The source of time, threads and randomness.
        client: Sends the requests; it must not be limited by this elector's own leadership.
        config: The lease, and the durations that all replicas share.
        on_leading: Called once, when this replica begins to lead.
        on_new_leader: Called with the identity of each new leader, this replica included; with an empty text when the
            lease no longer has a holder.
        on_yielding: Called once, when another candidate is preferred. From then on the lease is not renewed, so end the
            work and set the stop of `run` before the deadline.
        candidate: The candidate of this replica in a coordinated election; the caller runs it.

    Attributes:
        name: The lease's name, without its namespace.
        identity: The holder identity under which it competes.
        lock: The lease.
        candidate: As given.
        last_error: Why the last attempt failed; empty if it succeeded.
        state: The current state; see `state.py`.
        slow_paths: The number of renewals for which the lease had to be read again, because another client had written
            or deleted it.

    Threads: `run` on one, which also calls the callbacks; everything else from any.
    """

    def __init__(
        self,
        host: Host,
        client: Client,
        config: LeaderElectionConfig,
        *,
        on_leading: Callable[[], None] = _ignore,
        on_new_leader: Callable[[str], None] = _ignore,
        on_yielding: Callable[[LeadershipLost], None] = _ignore,
        candidate: LeaseCandidate | None = None,
    ) -> None:
        config = config.named_by(host)
        self.name = config.name
        self.identity = config.identity or ""
        self.lock = LeaseLock(client, ObjectKey(config.name, config.namespace), config.labels)
        self.last_error = ""
        self.candidate = candidate
        self.slow_paths = 0
        self._host = host
        self._config = config
        self._on_leading = on_leading
        self._on_new_leader = on_new_leader
        self._on_yielding = on_yielding
        self._is_coordinated = config.coordinated is not None
        # The three fields below need no lock: the thread of `run` replaces each as a whole, other threads only read.
        self.state: State = Waiting()
        self._seen = Sighting(None, host.monotonic())
        self._leader = ""

    @property
    def leader(self) -> str:
        """The holder of the lease when this replica last read or wrote it; empty if there was none."""
        return self._leader

    @property
    def term(self) -> Term | None:
        """The leadership of this replica, also after it was lost; None before it leads, and after it has resigned."""
        return term_of(self.state)

    @property
    def held(self) -> HeldLease | None:
        """The fencing token and the current deadline of `term`; None without a term."""
        term = self.term
        return None if term is None else term.held

    @property
    def stop_timeout(self) -> float:
        """Seconds that `run` may need once its stop is set: for a renewal in flight, then for the release."""
        return 2 * self._config.retry_period

    def is_leader(self) -> bool:
        """Return whether this replica leads now; cheap enough to call before each step of some work."""
        term = self.term
        return term is not None and not term.is_over()

    def problem(self, tolerance: float = 20.0) -> str:
        """Return a description of the problem if the elector hangs, for a health check; otherwise an empty text.

        An elector hangs if it still believes that it leads, `tolerance` seconds after other replicas may have taken the
        lease.
        """
        match self.state:
            case Leading(term) | Yielding(term):
                late = self._host.monotonic() - (term.held.until - self._config.renew_deadline)
            case _:
                return ""
        if late <= self._config.lease_duration + tolerance:
            return ""
        return f"lease {self.lock} was not renewed for {late:.1f} s: {self.last_error or 'the elector hangs'}"

    def run(self, stop: Stop) -> None:
        """Compete for the lease, renew it until `stop` is set, then release it unless `stop` is cancelled.

        Raises:
            LeadershipLost: This replica led, and lost the lease or passed its deadline.
        """
        try:
            while not stop.is_set():
                began = self._host.monotonic()
                self._attempt()
                stop.wait_until(self._next_attempt(began))
            match self.state:
                case Leading(term) | Yielding(term) if not stop.is_cancelled():
                    self._resign(term, stop)
        finally:
            self._enter(Ended(self.term))

    def _enter(self, state: State) -> None:
        assert (type(self.state), type(state)) in TRANSITIONS, f"{self.state} cannot become {state}"
        self.state = state

    def _next_attempt(self, began: float) -> float:
        """Return when to look next: leaders at a steady pace, others at a jittered one and when the lease expires."""
        now = self._host.monotonic()
        match self.state:
            case Leading(term):
                return min(max(began + self._config.retry_period, now), term.held.until)
            case Yielding(term):
                return term.held.until
        # Never slower than a leader renews, so that a released lease is seen within one retry period.
        look = max(began + self._config.retry_period / self._host.random.uniform(1.0, self._config.jitter), now)
        return min(look, self._seen.expires_at) if self._seen.expires_at > now else look

    def _attempt(self) -> None:
        try:
            self._look_and_act()
            self.last_error = ""
        except (APIError, ConnectionLost, DecodeError) as error:
            self.last_error = kept_text(error)
            log.warning("election attempt failed", lease=self.lock, leading=self.is_leader(), error=error)

    def _look_and_act(self) -> None:
        if self._must_look():
            self._look()
        try:
            self._act()
        except (Conflict, AlreadyExists, NotFound):  # another client wrote first: read what it wrote, and decide again
            self.slow_paths += not isinstance(self.state, Waiting)
            self._look()
            self._act()

    def _must_look(self) -> bool:
        """Return whether to read the lease first: a leader need not, unless a coordinator writes the lease, too."""
        match self.state:
            case Leading():
                return self._is_coordinated and self.is_leader()
            case Yielding():
                return False
            case _:
                return True

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
            case Action.CREATE:
                self._begin(self.lock.create, 0)
            case Action.TAKE:
                self._begin(self.lock.update, seen.transitions + 1)
            case Action.RENEW:
                self._renew(seen)
            case Action.WAIT:
                if self.candidate is not None and is_vacant(self._seen, now):
                    self.candidate.renew()
            case Action.GIVE_BACK:
                self._write(self.lock.update, LeaseRecord.free(microtime(self._host.now()), seen.transitions))
            case Action.YIELD:
                self._yield(seen.preferred)
            case Action.LOST:
                why = f"its holder is {self.leader!r}" if self.is_leader() else "its deadline has passed"
                raise self._lost(self.last_error or why)

    def _begin(self, write: Write, transitions: int) -> None:
        """Write our record into the lease, and lead if the answer came before the deadline."""
        stamp = microtime(self._host.now())
        # The coordinator that elected us leaves acquireTime empty, and so do we.
        sent_at = self._write(write, self._record("" if self._is_coordinated else stamp, transitions))
        term = Term(self._host, transitions, sent_at + self._config.renew_deadline)
        if term.is_over():
            return  # answered too late to lead under it; the next look finds our name and takes the lease again
        self._enter(Leading(term))
        log.info("became leader", lease=self.lock, identity=self.identity, token=transitions)
        self._on_leading()

    def _renew(self, seen: LeaseRecord) -> None:
        term = self.term
        assert term is not None, "only a leader renews"
        sent_at = self._write(self.lock.update, self._record(seen.acquire_time, seen.transitions))
        if not term.extend(sent_at + self._config.renew_deadline):
            raise self._lost("its renewal was answered too late")

    def _yield(self, preferred: str) -> None:
        """Stop renewing the lease, and call `on_yielding`, so that the work ends before the deadline."""
        if isinstance(self.state, Leading):
            self._enter(Yielding(self.state.term))
            log.info("yielding the lease", lease=self.lock, identity=self.identity, preferred=preferred)
            self._on_yielding(LeadershipLost(f"lease {self.lock} is given up: {preferred} is preferred"))

    def _lost(self, why: str) -> LeadershipLost:
        """End our term, so that the fence refuses requests from now on, and return the error to raise."""
        if self.term is not None:
            self.term.end(why)
        return LeadershipLost(f"lease {self.lock} is lost: {why}")

    def _resign(self, term: Term, stop: Stop) -> None:
        """Stop leading, now that the work which depends on it has ended, and give the lease back."""
        if term.is_over():
            raise self._lost("the deadline passed before it could be given back")
        self._enter(Resigned())
        log.info("resigned", lease=self.lock, identity=self.identity)
        deadline = self._host.monotonic() + self._config.retry_period  # a stop does not wait long for a silent server
        if self.candidate is not None:  # withdrawn first, or the coordinator would elect us again
            self.candidate.withdraw(deadline)
        if self._config.release_on_stop:
            released = release(self.lock, self.identity, self._host, stop, deadline)
            if released is not None:
                self._note(released)

    def _record(self, acquire_time: str, transitions: int) -> LeaseRecord:
        stamp = microtime(self._host.now())
        strategy = self._seen.record.strategy if self._is_coordinated and self._seen.record is not None else ""
        return LeaseRecord(self.identity, int(self._config.lease_duration), acquire_time, stamp, transitions, strategy)

    def _write(self, write: Write, record: LeaseRecord) -> float:
        """Write `record` and return the send time, of `Host.elapsed`: the leadership's deadline is measured from it."""
        sent_at = self._host.elapsed()
        write(record, self._deadline())
        self._note(record)
        return sent_at

    def _deadline(self) -> float:
        """Return when a request that begins now must be over: the request timeout, or the end of our leadership."""
        soon, term = self._host.monotonic() + self._config.request_timeout, self.term
        return soon if term is None else min(soon, term.held.until)

    def _note(self, record: LeaseRecord | None) -> None:
        """Keep the record of the lease, and call `on_new_leader` if the holder has changed."""
        self._seen = self._seen.again(record, self._host.monotonic())
        leader = record.holder if record is not None else ""
        if leader != self._leader:
            self._leader = leader
            log.info("leader changed", lease=self.lock, leader=leader)
            self._on_new_leader(leader)
