# SPDX-License-Identifier: Apache-2.0
"""Elects the holders of leases among LeaseCandidates, from outside the components that hold them.

Candidates say in which versions they are; the one that emulates the oldest leads, so an
upgrade is led from behind. The controller asks who lives, writes the holder's name into
the lease, and asks a holder to give way to a better one. `step` decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import attrs
import msgspec

from controller_runtime.api.codec import decoder_for
from controller_runtime.api.objects import Cached, ObjectKey, microtime
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.handlers import enqueue_mapped
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.errors import AlreadyExists, Conflict, ControllerRuntimeError, NotFound
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.manager import Manager
from controller_runtime.queue.rate_limiters import ItemExponential
from controllers.election.memory import Memory
from controllers.election.step import AGAIN, WINDOW, Act, Decision, Lease, Problem, decide
from controllers.election.strategy import STRATEGIES, Candidate, Strategy

log = get_logger(__name__)

NAME = "lease-candidate-election"


class Metadata(msgspec.Struct, gc=False, rename="camel"):
    """What is read of the metadata of both kinds."""

    name: str
    namespace: str
    uid: str
    resource_version: str
    creation_timestamp: datetime = datetime.min.replace(tzinfo=UTC)


class _CandidateSpec(msgspec.Struct, gc=False, rename="camel"):
    lease_name: str = ""
    strategy: str = ""
    binary_version: str = ""
    emulation_version: str = ""
    ping_time: datetime | None = None
    renew_time: datetime | None = None


class CandidateView(msgspec.Struct, gc=False):
    """The part of a LeaseCandidate that is read here."""

    metadata: Metadata
    spec: _CandidateSpec = msgspec.field(default_factory=_CandidateSpec)

    @property
    def lease(self) -> ObjectKey:
        """The lease that it is for."""
        return ObjectKey(self.spec.lease_name, self.metadata.namespace)

    def has_answered(self) -> bool:
        """Whether nobody waits for it to say that it lives."""
        pinged, renewed = self.spec.ping_time, self.spec.renew_time
        return pinged is None or renewed is None or renewed >= pinged


class _LeaseSpec(msgspec.Struct, gc=False, rename="camel"):
    holder_identity: str | None = None
    preferred_holder: str | None = None
    strategy: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: datetime | None = None

    @property
    def renewal(self) -> object:
        """What a holder changes when it renews; what others write into the lease is no renewal."""
        return self.holder_identity, self.renew_time, self.lease_duration_seconds


class LeaseView(msgspec.Struct, gc=False):
    """The part of a Lease that is read here."""

    metadata: Metadata
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


_candidate = decoder_for(CandidateView, LEASE_CANDIDATES)


def candidate_of(view: CandidateView, heard: float) -> Candidate | None:
    """The candidate as a value; None if it has never said that it lives.

    Args:
        view: The object.
        heard: Seconds since we saw it say so.
    """
    spec = view.spec
    if spec.renew_time is None:
        return None
    return Candidate(
        name=view.metadata.name,
        binary=spec.binary_version,
        emulation=spec.emulation_version,
        strategy=spec.strategy,
        renewed=spec.renew_time,
        pinged=spec.ping_time,
        created=view.metadata.creation_timestamp,
        heard=heard,
    )


@attrs.frozen
class LeaseCandidateElection(Reconciler):
    """Takes one step of the election for one lease, and another 5 s later as long as it has candidates."""

    host: Host
    leases: Lister[LeaseView]
    candidates: Lister[CandidateView]
    client: Client
    recorder: EventRecorder
    strategies: Mapping[str, Strategy]
    memory: Memory

    def reconcile(self, request: Request) -> Result:
        """One step for the lease of that name, whether it exists or not."""
        lease, found = self.leases.get(request), _for(request, self.candidates.list(request.namespace))
        if not found:
            self._watch(request, lease)
            return Result()
        decision = self._decide(request, lease, found)
        self._tell(request, lease, found, decision.problems)
        try:
            self._act(request, lease, found, decision)
        except (AlreadyExists, Conflict, NotFound):  # the caches are behind: what is there counts
            lease, found = self._live(request)
            decision = self._decide(request, lease, found)
            self._act(request, lease, found, decision)
        return Result(requeue_after=decision.again)

    def _live(self, key: ObjectKey) -> tuple[LeaseView | None, Mapping[str, CandidateView]]:
        """What the server says now."""
        found = _for(key, self.client.list(LEASE_CANDIDATES, key.namespace, view=CandidateView))
        try:
            return self.client.get(LEASES, key, LeaseView), found
        except NotFound:
            return None, found

    def _watch(self, key: ObjectKey, lease: LeaseView | None) -> None:
        """A lease that is nobody's business now may be an election's again."""
        if lease is None or not (lease.spec.strategy or self.memory.knows(key)):
            self.memory.forget(key)
        else:
            self.memory.unchanged_for(key, lease.spec.renewal)
            self.memory.news(key, ())

    def _decide(self, key: ObjectKey, lease: LeaseView | None, found: Mapping[str, CandidateView]) -> Decision:
        renewals = {name: (view.metadata.resource_version, view.spec.renew_time) for name, view in found.items()}
        heard = self.memory.heard(key, renewals)
        candidates = [each for name, view in found.items() if (each := candidate_of(view, heard[name])) is not None]
        return decide(self._lease(key, lease), candidates, self.host.now(), self.strategies)

    def _lease(self, key: ObjectKey, view: LeaseView | None) -> Lease | None:
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
        self, key: ObjectKey, lease: LeaseView | None, found: Mapping[str, CandidateView], decision: Decision
    ) -> None:
        match decision.act:
            case Act.NOTHING | Act.WAIT:
                pass
            case Act.PING:
                self._ping([found[name] for name in decision.names])
            case Act.ELECT | Act.PREFER | Act.RECORD:
                self._write(key, lease, decision)

    def _ping(self, candidates: Iterable[CandidateView]) -> None:
        """Ask each whether it lives; one that cannot be asked keeps no other from being asked.

        Raises:
            Conflict: One has said something meanwhile; as does NotFound, that one is gone.
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

    def _write(self, key: ObjectKey, lease: LeaseView | None, decision: Decision) -> None:
        """Make the lease say what was decided, unless somebody has changed it since."""
        if lease is None:
            metadata = {"name": key.name, "namespace": key.namespace}
            self.client.create(LEASES, {"metadata": metadata, "spec": {**decision.spec}})
        else:
            version = {"resourceVersion": lease.metadata.resource_version}
            self.client.patch(LEASES, key, {"metadata": version, "spec": {**decision.spec}})
        what = {"holder": decision.spec.get("holderIdentity"), "preferred": decision.spec.get("preferredHolder")}
        log.info("lease written", lease=key, act=decision.act.value, **{k: v for k, v in what.items() if v})

    def _tell(
        self,
        key: ObjectKey,
        lease: LeaseView | None,
        found: Mapping[str, CandidateView],
        problems: Iterable[Problem],
    ) -> None:
        """Say once what people should know, in the log and as events."""
        for problem in self.memory.news(key, problems):
            about = {"lease": key, "candidate": problem.candidate} if problem.candidate else {"lease": key}
            tell = log.warning if problem.is_wrong else log.info
            tell("election: " + problem.message, reason=problem.reason, **about)
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
    """All but a candidate that has been asked and has said nothing since: that is our own question."""
    if delta.old is None or delta.new is None:
        return True
    now = _candidate(delta.new.raw)
    return now.has_answered() or now.spec.renew_time != _candidate(delta.old.raw).spec.renew_time


def lease_candidate_election(
    manager: Manager, *, workers: int = 1, strategies: Mapping[str, Strategy] = STRATEGIES
) -> Controller:
    """The controller, ready to add to `manager`.

    With several replicas, it belongs under ordinary leader election.

    Args:
        manager: Whose leases to look after.
        workers: Elections stepped through at the same time.
        strategies: By their names; add those of your own to `STRATEGIES`.
    """
    reconciler = LeaseCandidateElection(
        host=manager.host,
        leases=manager.lister(LEASES, LeaseView),
        candidates=manager.lister(LEASE_CANDIDATES, CandidateView),
        client=manager.client,
        recorder=manager.recorder(NAME),
        strategies=strategies,
        memory=Memory(manager.host),
    )
    # Whatever fails is tried again at least as often as a healthy election is looked at.
    controller = Controller(NAME, reconciler, workers=workers, limiter=ItemExponential(cap=AGAIN))
    return controller.watch(LEASES).watch(LEASE_CANDIDATES, when=_may_matter, map=enqueue_mapped(_lease_of))
