# SPDX-License-Identifier: Apache-2.0
"""The candidate of this replica in a coordinated election: a LeaseCandidate object, renewed to show that it is alive.

The coordinator asks by setting `pingTime`, and accepts a later `renewTime` as the answer. Its clock may differ from
ours, so answers are stamped with its clock.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from apimachinery.errors import AlreadyExists, APIError, ConnectionLost, DecodeError, NotFound
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import Cached, ObjectKey, microtime
from apimachinery.stop import Stop
from apimachinery.texts import kept_text
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASE_CANDIDATES
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.core.backoff import Backoff
from controller_runtime.election.config import Candidacy, LeaderElectionConfig

log = get_logger(__name__)

RENEWED_EVERY = 300.0
"""Seconds between two renewals without a ping. The coordinator deletes candidates after 30 minutes without one."""
REQUEST_TIMEOUT = 5.0
"""The timeout of one request in seconds. The coordinator waits 5 s for an answer to its ping."""
WITHDRAWAL_TIMEOUT = 2.0
"""The timeout of the deletion at the end, in seconds. If it fails, `lease-candidate-gc` deletes the candidate later."""
BACKOFF = Backoff(initial=0.05, cap=5.0)
CLOCKS_AGREE = timedelta(seconds=1)
"""The least difference between the coordinator's clock and ours that counts; a smaller one may be the network's."""


class _CandidateSpec(msgspec.Struct, gc=False, rename="camel"):
    ping_time: datetime | None = None
    renew_time: datetime | None = None


class _View(msgspec.Struct, gc=False):
    spec: _CandidateSpec = msgspec.field(default_factory=_CandidateSpec)


class LeaseCandidate:
    """Creates the LeaseCandidate object of this replica, renews it, and deletes it at the end.

    It is renewed periodically, and when the coordinator pings. If another client deletes the object, it is created
    again.

    Args:
        host: The source of time, threads and randomness.
        client: Writes the candidate.
        informer: Watches only this object.
        key: The key of the object; its name is the identity with which this replica would lead.
        lease: The name of the lease that the candidate is for.
        candidacy: The binary and emulation versions and the strategy that the candidate declares.

    Attributes:
        name: The name of its thread, also in logs.
        last_error: Why the last renewal failed; empty if it succeeded.

    Threads: `run` on one, the rest from any.
    """

    def __init__(
        self, host: Host, client: Client, informer: Informer, key: ObjectKey, lease: str, candidacy: Candidacy
    ) -> None:
        self.name = "lease-candidate"
        self.last_error = ""
        self._host = host
        self._client = client
        self._informer = informer
        self._key = key
        self._lease = lease
        self._candidacy = candidacy
        self._decode = decoder_for(_View, LEASE_CANDIDATES)
        # Guards the fields below; `run` and `withdraw` wait on it.
        self._condition = host.condition(self.name)
        self._asked: datetime | None = None  # the coordinator's last ping that is not answered yet, in its clock
        self._offset = timedelta(0)  # the coordinator's clock minus ours
        self._is_due = True
        self._is_leaving = False
        self._is_gone = False

    def renew(self) -> None:
        """Make `run` renew the candidate now. Call this when no replica seems to lead: an election may be near."""
        self._wake(is_due=True)

    def withdraw(self, deadline: float) -> None:
        """Make `run` delete the candidate; wait until it has tried, or until `deadline` (monotonic seconds)."""
        self._wake(is_leaving=True)
        with self._condition:
            while not self._is_gone and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)

    def run(self, stop: Stop) -> None:
        """Create and renew the candidate until `stop` is set or `withdraw` is called."""
        stop.on_set(lambda: self._wake(is_leaving=True))
        registration = self._informer.add_handler(self._candidate_changed)
        failures, due_at = 0, self._host.monotonic()
        try:
            while self._await(due_at, failures > 0):
                try:
                    self._renew_now()
                except (APIError, ConnectionLost, DecodeError) as error:
                    failures += 1
                    self._note_failure(kept_text(error))
                    due_at = self._host.monotonic() + BACKOFF.delay(failures, self._host.random)
                else:
                    failures, self.last_error = 0, ""
                    due_at = self._host.monotonic() + RENEWED_EVERY
            self._delete()
        finally:
            registration.remove()
            with self._condition:
                self._is_gone = True
                self._condition.notify_all()

    def _candidate_changed(self, delta: Delta) -> None:
        """Record a ping for `run`, and wake it. Runs on the informer's thread, so it only sets fields."""
        if delta.new is None:
            self._wake(is_due=True)
            return
        now, before = self._spec_of(delta.new), self._spec_of(delta.old)
        if now.ping_time is None:
            return
        is_new = now.ping_time != before.ping_time
        # An old ping counts as well if a renewal that was delayed on its way has overwritten our answer to it.
        if is_new or now.renew_time is None or now.renew_time < now.ping_time:
            with self._condition:
                self._asked = now.ping_time
                if is_new:
                    difference = now.ping_time - self._host.now()
                    self._offset = difference if abs(difference) > CLOCKS_AGREE else timedelta(0)
                self._condition.notify_all()

    def _spec_of(self, cached: Cached | None) -> _CandidateSpec:
        try:
            return _CandidateSpec() if cached is None else self._decode(cached.raw).spec
        except DecodeError:
            return _CandidateSpec()

    def _wake(self, *, is_due: bool = False, is_leaving: bool = False) -> None:
        with self._condition:
            self._is_due = self._is_due or is_due
            self._is_leaving = self._is_leaving or is_leaving
            self._condition.notify_all()

    def _await(self, due_at: float, is_failing: bool) -> bool:
        """Wait until the candidate is to be renewed; return False once it is withdrawn."""
        with self._condition:
            while not self._is_leaving and self._host.monotonic() < due_at:
                # After a failure a ping has to wait for the backoff as well.
                if not is_failing and (self._is_due or self._asked is not None):
                    break
                self._condition.wait_until(due_at)
            return not self._is_leaving

    def _renew_now(self) -> None:
        """Renew the candidate with our estimate of the coordinator's time, and forget the ping that this answers."""
        with self._condition:
            asked, self._is_due = self._asked, False
            renewed = self._host.now() + self._offset
        if asked is not None:
            renewed = max(renewed, asked)  # an earlier time would not count as an answer
        self._write(renewed)
        with self._condition:
            if self._asked is asked:
                self._asked = None

    def _write(self, renewed: datetime) -> None:
        """Renew the candidate, or create it."""
        client = self._client.within(REQUEST_TIMEOUT)
        spec = {
            "binaryVersion": self._candidacy.binary_version,
            "emulationVersion": self._candidacy.emulation_version,
            "strategy": self._candidacy.strategy,
            "renewTime": microtime(renewed),
        }
        if self._informer.store.get(self._key) is None:
            metadata = {"name": self._key.name, "namespace": self._key.namespace}
            try:
                client.create(LEASE_CANDIDATES, {"metadata": metadata, "spec": {**spec, "leaseName": self._lease}})
                return
            except AlreadyExists:  # the cache is behind
                pass
        try:
            client.patch(LEASE_CANDIDATES, self._key, {"spec": spec})
        except NotFound:  # deleted; the cache will follow, so the next try creates it
            self._wake(is_due=True)
            raise

    def _note_failure(self, error: str) -> None:
        """Keep the error in `last_error`, and log it unless the renewal before failed as well."""
        if not self.last_error:
            log.warning("candidate not renewed", candidate=self._key, error=error)
        self.last_error = error

    def _delete(self) -> None:
        """Delete the candidate, because the coordinator would ping it and wait for an answer that cannot come."""
        try:
            self._client.within(WITHDRAWAL_TIMEOUT).delete(LEASE_CANDIDATES, self._key)
        except NotFound:
            pass
        except (APIError, ConnectionLost) as error:
            log.warning("candidate not withdrawn, it will be collected", candidate=self._key, error=error)


def candidate_for(
    host: Host, client: Client, informers: Informers, config: LeaderElectionConfig
) -> LeaseCandidate | None:
    """Return the candidate for `config`; None if the election is not coordinated, or `config` has no identity."""
    if config.coordinated is None or config.identity is None:
        return None
    key = ObjectKey(config.identity, config.namespace)
    own = Collection(LEASE_CANDIDATES, config.namespace, field_selector=f"metadata.name={config.identity}")
    informer = informers.of(own)
    return LeaseCandidate(host, client, informer, key, config.name, config.coordinated)
