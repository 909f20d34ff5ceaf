# SPDX-License-Identifier: Apache-2.0
"""Elects the holders of leases among LeaseCandidates, from outside the components that hold the leases.

Candidates declare their versions. The one with the oldest emulation version leads, so that during an upgrade nothing
is written that the other replicas cannot read. The controller pings candidates to see which of them are alive, writes
the name of the elected one into the lease, and asks a holder to give way to a better one. `next_action` decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from apimachinery.errors import AlreadyExists, Conflict, ControllerRuntimeError, NotFound, StaleCache
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import Cached, ObjectKey, microtime
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.own_writes import OwnWrites
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.handlers import enqueue_mapped
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.manager import Manager
from controller_runtime.queue.rate_limiters import ItemExponential
from controllers.election.memory import Memory
from controllers.election.next_action import AGAIN, WINDOW, Decision, ElectionAction, Lease, Problem, decide
from controllers.election.strategy import STRATEGIES, ElectionStrategy
from controllers.election.views import CandidateView, ElectionLeaseView, candidate_of

log = get_logger(__name__)

NAME = "lease-candidate-election"


_candidate = decoder_for(CandidateView, LEASE_CANDIDATES)


@attrs.frozen
class LeaseCandidateElection(Reconciler):
    """Elects the holder of a lease among its candidates: each reconcile takes one step.

    The next step follows after 5 s, as long as the lease has candidates that were renewed within half an hour.

    Attributes:
        host: The source of the time; its wall clock is compared with times in objects.
        leases: The cache of leases, in all namespaces.
        candidates: The cache of candidates, in all namespaces.
        client: Reads and writes at the server, without the caches.
        recorder: Receives the events about problems.
        strategies: The election strategies by name.
        memory: When renewals were seen, and which problems were reported.
        own_writes: The leases that this controller created and the cache does not show yet.
    """

    host: Host
    leases: Lister[ElectionLeaseView]
    candidates: Lister[CandidateView]
    client: Client
    recorder: EventRecorder
    strategies: Mapping[str, ElectionStrategy]
    memory: Memory
    own_writes: OwnWrites

    def reconcile(self, request: Request) -> Result:
        """Take one step of the election of a lease, which need not exist."""
        if self._lacks_own_lease(request):
            return Result(requeue_after=AGAIN)
        lease, found = self.leases.get(request), _for(request, self.candidates.list(request.namespace))
        if not found:
            self._watch_without_candidates(request, lease)
            return Result()
        decision = self._decide(request, lease, found)
        self._report(request, lease, found, decision.problems)
        try:
            self._act(request, lease, found, decision)
        except (AlreadyExists, Conflict, NotFound):  # the caches are behind: decide again on the server's objects
            lease, found = self._live(request)
            decision = self._decide(request, lease, found)
            self._act(request, lease, found, decision)
        return Result(requeue_after=decision.again)

    def _lacks_own_lease(self, key: ObjectKey) -> bool:
        """Return whether the cache lacks a lease that we made: a ping would disturb candidates for nothing."""
        try:
            self.own_writes.check(key)
        except StaleCache:
            return True
        return False

    def _live(self, key: ObjectKey) -> tuple[ElectionLeaseView | None, Mapping[str, CandidateView]]:
        """Return the lease and its candidates as the server has them now."""
        found = _for(key, self.client.list(LEASE_CANDIDATES, key.namespace, view=CandidateView))
        try:
            return self.client.get(LEASES, key, ElectionLeaseView), found
        except NotFound:
            return None, found

    def _watch_without_candidates(self, key: ObjectKey, lease: ElectionLeaseView | None) -> None:
        """Keep watching a lease without candidates if it has been part of an election: it may get some again."""
        if lease is None or not (lease.spec.strategy or self.memory.knows(key)):
            self.memory.forget(key)
        else:
            self.memory.unchanged_for(key, lease.spec.renewal)
            self.memory.due_problems(key, ())

    def _decide(self, key: ObjectKey, lease: ElectionLeaseView | None, found: Mapping[str, CandidateView]) -> Decision:
        renewals = {name: (view.metadata.resource_version, view.spec.renew_time) for name, view in found.items()}
        seen_ago = self.memory.seconds_since_renewals(key, renewals)
        candidates = [c for name, view in found.items() if (c := candidate_of(view, seen_ago[name])) is not None]
        return decide(self._lease(key, lease), candidates, self.host.now(), self.strategies)

    def _lease(self, key: ObjectKey, view: ElectionLeaseView | None) -> Lease | None:
        if view is None:
            return None
        spec = view.spec
        return Lease(
            holder=spec.holder_identity or "",
            preferred=spec.preferred_holder or "",
            strategy=spec.strategy or "",
            duration=spec.lease_duration_seconds,
            renewed=spec.renew_time,
            unchanged_for=self.memory.unchanged_for(key, spec.renewal),
        )

    def _act(
        self, key: ObjectKey, lease: ElectionLeaseView | None, found: Mapping[str, CandidateView], decision: Decision
    ) -> None:
        match decision.action:
            case ElectionAction.NOTHING | ElectionAction.WAIT:
                pass
            case ElectionAction.PING:
                self._ping([found[name] for name in decision.names])
            case ElectionAction.ELECT | ElectionAction.PREFER | ElectionAction.RECORD:
                self._write(key, lease, decision)

    def _ping(self, candidates: Iterable[CandidateView]) -> None:
        """Ping each candidate; a failure does not keep the others from being pinged.

        Raises:
            ControllerRuntimeError: A ping failed. If several did, an error other than Conflict and NotFound is
                raised if there is one: those two only say that a candidate has changed or is gone.
        """
        failure: ControllerRuntimeError | None = None
        client = self.client.within(WINDOW.total_seconds())
        for candidate in candidates:
            metadata = candidate.metadata
            patch = {
                "metadata": {"resourceVersion": metadata.resource_version},
                "spec": {"pingTime": microtime(self.host.now())},
            }
            try:
                client.patch(LEASE_CANDIDATES, ObjectKey(metadata.name, metadata.namespace), patch)
            except ControllerRuntimeError as error:
                failure = failure if failure is not None and not isinstance(failure, Conflict | NotFound) else error
        if failure is not None:
            raise failure

    def _write(self, key: ObjectKey, lease: ElectionLeaseView | None, decision: Decision) -> None:
        """Write the decision into the lease, unless the lease has changed since."""
        if lease is None:
            metadata = {"name": key.name, "namespace": key.namespace}
            made = self.client.create(LEASES, {"metadata": metadata, "spec": {**decision.spec}})
            self.own_writes.wrote(key, "", self.leases, made.resource_version)
        else:
            version = {"resourceVersion": lease.metadata.resource_version}
            self.client.patch(LEASES, key, {"metadata": version, "spec": {**decision.spec}})
        what = {"holder": decision.spec.get("holderIdentity"), "preferred": decision.spec.get("preferredHolder")}
        log.info("lease written", lease=key, act=decision.action.value, **{k: v for k, v in what.items() if v})

    def _report(
        self,
        key: ObjectKey,
        lease: ElectionLeaseView | None,
        found: Mapping[str, CandidateView],
        problems: Iterable[Problem],
    ) -> None:
        """Report each problem once, in the log and as an event."""
        for problem in self.memory.due_problems(key, problems):
            about = {"lease": key, "candidate": problem.candidate} if problem.candidate else {"lease": key}
            write = log.warning if problem.is_wrong else log.info
            write("election: " + problem.message, reason=problem.reason, **about)
            view = found[problem.candidate or min(found)] if problem.candidate or lease is None else lease
            metadata = {name: getattr(view.metadata, name) for name in ("name", "namespace", "uid")}
            self.recorder.event(
                {"metadata": metadata},
                "Warning" if problem.is_wrong else "Normal",
                problem.reason,
                problem.message,
                action="Elect",
                resource=LEASES if view is lease else LEASE_CANDIDATES,
            )


def _for(lease: ObjectKey, candidates: Iterable[CandidateView]) -> Mapping[str, CandidateView]:
    return {view.metadata.name: view for view in candidates if view.lease == lease}


def _lease_of(candidate: Cached) -> Iterable[Request]:
    return [_candidate(candidate.raw).lease]


def _may_matter(delta: Delta) -> bool:
    """Return False for a change that is only our own ping, so that it does not cause another step."""
    if delta.old is None or delta.new is None:
        return True
    now = _candidate(delta.new.raw)
    return now.has_answered() or now.spec.renew_time != _candidate(delta.old.raw).spec.renew_time


def lease_candidate_election(
    manager: Manager, *, workers: int = 1, strategies: Mapping[str, ElectionStrategy] = STRATEGIES
) -> Controller:
    """Return the controller that elects leaders among lease candidates, ready to be added to `manager`.

    Several replicas of this controller need ordinary leader election, because it cannot be a candidate in an election
    that it runs.

    Args:
        manager: The manager, whose client, caches and event recorder are used.
        workers: The most elections that are processed at the same time.
        strategies: The election strategies by name; add your own to `STRATEGIES`.
    """
    reconciler = LeaseCandidateElection(
        host=manager.host,
        leases=manager.lister(LEASES, ElectionLeaseView),
        candidates=manager.lister(LEASE_CANDIDATES, CandidateView),
        client=manager.client,
        recorder=manager.recorder(NAME),
        strategies=strategies,
        memory=Memory(manager.host),
        own_writes=OwnWrites(manager.host),
    )
    # A failed step is tried again at least as often as the next step of a healthy election would come.
    controller = Controller(NAME, reconciler, workers=workers, limiter=ItemExponential(cap=AGAIN))
    return controller.watch(LEASES).watch(LEASE_CANDIDATES, when=_may_matter, map=enqueue_mapped(_lease_of))
