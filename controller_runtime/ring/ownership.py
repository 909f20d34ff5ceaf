# SPDX-License-Identifier: Apache-2.0
"""The slots of a ring that this process owns: which work may begin, what is in hand, and the limit of its requests."""

from __future__ import annotations

import contextlib
import contextvars
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

from apimachinery.errors import ConnectionLost, LeadershipLost
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.deadlines import DeadlineTransport
from controller_runtime.client.transport import Transport
from controller_runtime.election.term import Term, needs_no_leader
from controller_runtime.ring.records import Assignment
from controller_runtime.ring.slots import ALL, set_of, slots_in
from controller_runtime.ring.token import RingToken, token_of

_turn: contextvars.ContextVar[Turn | None] = contextvars.ContextVar("ring turn", default=None)
_membership: contextvars.ContextVar[Term | None] = contextvars.ContextVar("ring membership", default=None)
_unbound: contextvars.ContextVar[bool] = contextvars.ContextVar("no ring membership", default=False)


class Turn:
    """One piece of work for one slot, such as a reconcile. It is running from its creation to `Ownership.end`.

    Attributes:
        slot: The slot. Requests that are sent inside `with turn:` belong to the turn.
        term: The membership under which the work began.
        token: The fencing token of the slot when the work began; a later ownership of the slot has another one.
        unsure_until: Monotonic seconds until which the slot is kept, because the answer to a write was lost.
    """

    __slots__ = ("_ownership", "_reset", "_unled", "slot", "term", "token", "unsure_until")

    def __init__(self, ownership: Ownership, slot: int, term: Term, token: RingToken) -> None:
        self._ownership = ownership
        self.slot = slot
        self.term = term
        self.token = token
        self.unsure_until = 0.0

    def is_of(self, ownership: Ownership) -> bool:
        """Return whether this work was granted by `ownership`, and not by the `Ownership` of another ring."""
        return self._ownership is ownership

    def __enter__(self) -> None:
        self._reset = _turn.set(self)
        self._unled = needs_no_leader.set(True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        needs_no_leader.reset(self._unled)
        _turn.reset(self._reset)
        self._ownership.end(self)


class Ownership:
    """The slots of a ring that this process owns, and the running work for them. Sets of slots are bit sets.

    Ownership ends by itself at a deadline if the member's lease is not renewed. Then requests of running work are
    refused.

    Args:
        host: The source of the time.

    Threads: any. Only the member calls `begin`, `drain`, `own` and `end_all`.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards all fields below. It is not held across any call.
        self._lock = host.lock("ring ownership")
        # The membership and the slots; replaced as a whole, so that readers need no lock.
        self._state: tuple[Term | None, int] = (None, 0)
        # The assignments by which the slots are owned, the newest first: one that takes a slot from us gives no token.
        self._by: tuple[tuple[int, Assignment], ...] = ()
        self._in_hand: Counter[int] = Counter()
        self._busy = 0  # the slots of the counter; one number, so that readers need no lock
        self._unsure: dict[int, float] = {}
        # Called when the last work in hand for a slot ends that is not owned any more; set before there is any work.
        self.on_idle: Callable[[], None] = lambda: None

    @property
    def term(self) -> Term | None:
        """The current membership, or the last one; None before the first."""
        return self._state[0]  # replaced as a whole

    @property
    def owned(self) -> int:
        """The slots for which work may begin now."""
        term, owned = self._state  # replaced as a whole
        return owned if term is not None and not term.is_over() else 0

    @property
    def in_hand(self) -> int:
        """The slots with running work that can still send requests."""
        term, busy = self._state[0], self._busy  # each replaced as a whole
        return busy if busy and term is not None and not term.is_over() else 0

    def owns(self, slot: int) -> bool:
        """Return whether work for a slot may begin now."""
        return bool(self.owned >> slot & 1)

    def turn(self, slot: int) -> Turn | None:
        """Begin work for a slot, and return a `Turn` to end it by; None if this replica does not own the slot."""
        with self._lock:
            term, owned = self._state
            ring = next((ring for slots, ring in self._by if slots >> slot & 1), None)
            if term is None or ring is None or not owned >> slot & 1 or term.is_over():
                return None
            self._in_hand[slot] += 1
            self._busy |= 1 << slot
            return Turn(self, slot, term, token_of(ring, slot))

    @contextlib.contextmanager
    def as_member(self) -> Iterator[None]:
        """Return a context manager: requests inside its block are bound to the current membership.

        Raises:
            LeadershipLost: There is no membership now. Requests raise it once the membership is over.
        """
        term = self.term
        if term is None or term.is_over():
            raise LeadershipLost("there is no membership in the ring" if term is None else _over(term))
        token = _membership.set(term)
        try:
            yield
        finally:
            _membership.reset(token)

    def keep_in_hand(self) -> None:
        """Keep slots with running work until the membership's deadline: a write without an answer may be theirs."""
        with self._lock:
            term = self._state[0]
            if term is not None and self._busy:
                until = term.held.until
                self._unsure |= {slot: max(until, self._unsure.get(slot, 0.0)) for slot in slots_in(self._busy)}

    def end(self, turn: Turn) -> None:
        """Report that the work for a slot that `turn` began has ended."""
        with self._lock:
            if turn.term is not self._state[0]:  # it could send nothing any more
                return
            self._in_hand[turn.slot] -= 1
            if is_last := not self._in_hand[turn.slot]:
                del self._in_hand[turn.slot]
                self._busy &= ~(1 << turn.slot)
            if turn.unsure_until:
                self._unsure[turn.slot] = max(turn.unsure_until, self._unsure.get(turn.slot, 0.0))
            is_idle = is_last and not self._state[1] >> turn.slot & 1
        if is_idle:
            self.on_idle()

    def begin(self, term: Term) -> None:
        """Begin a membership without slots. Work that still runs from the last one can send no requests."""
        with self._lock:
            self._state, self._by = (term, 0), ()
            self._in_hand.clear()
            self._busy = 0

    def drain(self, slots: int) -> None:
        """Let no new work begin for these slots."""
        with self._lock:
            self._state = self._state[0], self._state[1] & ~slots

    def own(self, slots: int, ring: Assignment | None, given: int = ALL) -> int:
        """Set the slots that this replica owns, so that work for them can begin; return the newly owned ones.

        Args:
            slots: The slots.
            ring: The newest assignment; None only if `slots` is empty.
            given: The slots that the assignment gives to this replica. The others keep their older token.
        """
        with self._lock:
            term, before = self._state
            kept = ((held & slots & ~given, by) for held, by in self._by)
            now = () if ring is None else ((slots & given, ring),)
            self._state, self._by = (term, slots), (*now, *(pair for pair in kept if pair[0]))
        return slots & ~before

    def end_all(self, why: str) -> int:
        """End the membership: no work begins, and running work can send no more requests.

        Returns:
            The slots for which a write may still reach the server, until the deadline that the membership had: those
                with running work or a lost answer. Empty once the deadline has passed.
        """
        with self._lock:
            term = self._state[0]
            self._state = term, 0
            if term is None or term.is_over():
                return 0
            until = term.held.until
            self._unsure |= dict.fromkeys(self._in_hand, until)
        term.end(why)
        return ~self.drained(ALL) & ALL

    def drained(self, slots: int) -> int:
        """Return those of `slots` that have no running work, and no write of unknown outcome.

        A write of unknown outcome counts until the deadline that the membership had when its answer was lost.
        """
        now = self._host.monotonic()
        with self._lock:
            self._unsure = {slot: until for slot, until in self._unsure.items() if until > now}
            busy = self._busy | set_of(self._unsure)
        return slots & ~busy


def turn_in_hand(ownership: Ownership) -> Turn | None:
    """Return the work for a slot in which the caller runs, if `ownership` granted it; otherwise None."""
    turn = _turn.get()
    return turn if turn is not None and turn.is_of(ownership) else None


def unbound() -> contextlib.AbstractContextManager[None]:
    """Return a context manager: requests inside depend on no membership, except in work for a slot or `as_member`."""

    @contextlib.contextmanager
    def block() -> Iterator[None]:
        token = _unbound.set(True)
        try:
            yield
        finally:
            _unbound.reset(token)

    return block()


def _none() -> Sequence[Ownership]:
    return ()


class RingTransport(DeadlineTransport):
    """A transport that refuses requests of a turn, such as a reconcile, once its membership has ended.

    Other requests may be bound to the current membership, too: a thread that a reconcile started, such as one of an
    executor, does not know its turn.

    Args:
        inner: Carries the requests.
        bound: Returns the ownerships on which requests outside of a turn depend. An ownership without any membership so
            far refuses nothing, since no reconcile can have begun.

    Threads: any.
    """

    def __init__(self, inner: Transport, bound: Callable[[], Sequence[Ownership]] = _none) -> None:
        super().__init__(inner, self._limit)
        self._bound = bound

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if request.method == "GET":
            return super().request(request, deadline)
        try:
            response = super().request(request, deadline)
        except ConnectionLost:  # it may land yet
            self._note_unsure()
            raise
        # A server that gives up waiting for its store, or a proxy that gives up waiting for the server, answers with
        # one of these, and the write may land yet. `Retry-After` proves nothing: kube-apiserver sends it with a write
        # that timed out in its store, too. A 429 is safe, since it refuses a request before any of it is done.
        if response.status >= 500:
            self._note_unsure()
        return response

    def _note_unsure(self) -> None:
        turn = _turn.get()
        if turn is not None:
            turn.unsure_until = turn.term.held.until
            return
        for ownership in self._binding():
            ownership.keep_in_hand()

    def _limit(self, request: HTTPRequest) -> float | None:
        """Return when the memberships end to which a request is bound; None without any.

        Raises:
            LeadershipLost: One is over.
        """
        turn = _turn.get()
        term = turn.term if turn is not None else _membership.get()
        terms = [each.term for each in self._binding()] if term is None else [term]
        bound = [each for each in terms if each is not None]
        for each in bound:
            if each.is_over():
                raise LeadershipLost(f"{request.method} {request.path} was not sent: {_over(each)}")
        return min((each.held.until for each in bound), default=None)

    def _binding(self) -> Sequence[Ownership]:
        return () if _unbound.get() or _membership.get() is not None else self._bound()


def _over(term: Term) -> str:
    return f"the membership in the ring is over, {term.why_over}"
