# SPDX-License-Identifier: Apache-2.0
"""Stands for an election that somebody else holds: a LeaseCandidate that says that we live.

Whoever elects asks by a `pingTime`, and takes a later `renewTime` for the answer. Its clock
may differ from ours, so answers are given by its clock.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from controller_runtime.api.codec import decoder_for
from controller_runtime.api.objects import Cached, ObjectKey, microtime
from controller_runtime.api.resources import LEASE_CANDIDATES
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.core.backoff import Backoff
from controller_runtime.core.errors import AlreadyExists, APIError, ConnectionLost, DecodeError, NotFound
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.election.config import Candidacy, LeaderElectionConfig

log = get_logger(__name__)

RENEWED_EVERY = 300.0
"""Seconds between two renewals that nobody asked for."""
REQUEST_TIMEOUT = 5.0
"""Seconds for one request: an answer that takes longer comes too late."""
WITHDRAWAL_TIMEOUT = 2.0
"""Seconds for the deletion at the end; after that the candidate is left to be collected."""
BACKOFF = Backoff(initial=0.05, cap=5.0)
CLOCKS_AGREE = timedelta(seconds=1)
"""Clocks that differ by less are taken for the same."""


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    ping_time: datetime | None = None
    renew_time: datetime | None = None


class _View(msgspec.Struct, gc=False):
    spec: _Spec = msgspec.field(default_factory=_Spec)


class LeaseCandidate:
    """Makes the candidate, answers when it is asked, and deletes it in the end.

    It is made again if somebody deletes it.

    Args:
        host: What it runs on.
        client: Writes the candidate.
        informer: Watches it, and it alone.
        request: Its name, which is the identity with which we would lead, and its namespace.
        lease: The name of the lease that it is for.
        candidacy: What it says.

    Attributes:
        name: What threads and logs call it.
        last_error: Why it could not be renewed; empty once it could.

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
        self._request = key
        self._lease = lease
        self._candidacy = candidacy
        self._decode = decoder_for(_View, LEASE_CANDIDATES)
        # Guards the fields below; `run` and `withdraw` wait on it.
        self._condition = host.condition(self.name)
        self._asked: datetime | None = None  # by the clock of whoever elects
        self._offset = timedelta(0)  # of that clock from ours
        self._is_due = True
        self._is_leaving = False
        self._is_gone = False

    def renew(self) -> None:
        """Say soon that we live, for it seems that nobody leads."""
        self._wake(is_due=True)

    def withdraw(self, deadline: float) -> None:
        """Stand no more, and wait until that is done or until `deadline` (absolute monotonic seconds)."""
        self._wake(is_leaving=True)
        with self._condition:
            while not self._is_gone and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)

    def run(self, stop: Stop) -> None:
        """Stand until `stop` is set, or until it is withdrawn."""
        stop.on_set(lambda: self._wake(is_leaving=True))
        registration = self._informer.add_handler(self._hear)
        failures, due_at = 0, self._host.monotonic()
        try:
            while self._await(due_at, failures > 0):
                try:
                    self._say_so()
                except (APIError, ConnectionLost, DecodeError) as error:
                    failures += 1
                    self._tell(str(error))
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

    def _hear(self, delta: Delta) -> None:
        """Note what the server says of us. Runs as the informer delivers, so it is quick."""
        if delta.new is None:
            self._wake(is_due=True)
            return
        now, before = self._spec_of(delta.new), self._spec_of(delta.old)
        if now.ping_time is None:
            return
        is_new = now.ping_time != before.ping_time
        # It may also be an old one to which our answer is gone: a renewal that was on its way for long came after it.
        if is_new or now.renew_time is None or now.renew_time < now.ping_time:
            with self._condition:
                self._asked = now.ping_time
                if is_new:
                    difference = now.ping_time - self._host.now()
                    self._offset = difference if abs(difference) > CLOCKS_AGREE else timedelta(0)
                self._condition.notify_all()

    def _spec_of(self, cached: Cached | None) -> _Spec:
        try:
            return _Spec() if cached is None else self._decode(cached.raw).spec
        except DecodeError:
            return _Spec()

    def _wake(self, *, is_due: bool = False, is_leaving: bool = False) -> None:
        with self._condition:
            self._is_due = self._is_due or is_due
            self._is_leaving = self._is_leaving or is_leaving
            self._condition.notify_all()

    def _await(self, due_at: float, is_failing: bool) -> bool:
        """Wait until there is something to say; False once there is nothing any more."""
        with self._condition:
            while not self._is_leaving and self._host.monotonic() < due_at:
                # After a failure what is asked has to wait as well.
                if not is_failing and (self._is_due or self._asked is not None):
                    break
                self._condition.wait_until(due_at)
            return not self._is_leaving

    def _say_so(self) -> None:
        """Write that we live now, by the clock of whoever asked last."""
        with self._condition:
            asked, self._is_due = self._asked, False
            renewed = self._host.now() + self._offset
        if asked is not None:
            renewed = max(renewed, asked)  # an earlier one would be no answer
        self._write(renewed)
        with self._condition:
            if self._asked is asked:
                self._asked = None

    def _write(self, renewed: datetime) -> None:
        """Renew the candidate, or make it."""
        client = self._client.within(REQUEST_TIMEOUT)
        spec = {
            "binaryVersion": self._candidacy.binary_version,
            "emulationVersion": self._candidacy.emulation_version,
            "strategy": self._candidacy.strategy,
            "renewTime": microtime(renewed),
        }
        if self._informer.store.get(self._request) is None:
            metadata = {"name": self._request.name, "namespace": self._request.namespace}
            try:
                client.create(LEASE_CANDIDATES, {"metadata": metadata, "spec": {**spec, "leaseName": self._lease}})
                return
            except AlreadyExists:  # the cache is behind
                pass
        try:
            client.patch(LEASE_CANDIDATES, self._request, {"spec": spec})
        except NotFound:  # deleted, of which the cache will tell
            self._wake(is_due=True)
            raise

    def _tell(self, error: str) -> None:
        """Log when it begins to fail."""
        if not self.last_error:
            log.warning("candidate not renewed", candidate=self._request, error=error)
        self.last_error = error

    def _delete(self) -> None:
        """An election goes on at once without a candidate, and would wait for the answer of a silent one."""
        try:
            self._client.within(WITHDRAWAL_TIMEOUT).delete(LEASE_CANDIDATES, self._request)
        except NotFound:
            pass
        except (APIError, ConnectionLost) as error:
            log.warning("candidate not withdrawn, it will be collected", candidate=self._request, error=error)


def candidate_for(
    host: Host, client: Client, informers: Informers, config: LeaderElectionConfig
) -> LeaseCandidate | None:
    """The candidate of a replica whose identity is known; None if it takes its lease by itself."""
    if config.coordinated is None or config.identity is None:
        return None
    request = ObjectKey(config.identity, config.namespace)
    informer = informers.of(
        LEASE_CANDIDATES, namespace=config.namespace, field_selector=f"metadata.name={config.identity}"
    )
    return LeaseCandidate(host, client, informer, request, config.name, config.coordinated)
