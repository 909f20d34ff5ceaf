# SPDX-License-Identifier: Apache-2.0
"""Renews one Lease for one component, as the components of Kubernetes do.

A heartbeat makes one request at a time and leaves every wait to a work queue. So it can run alone, with a
queue and a thread of its own (`run`), or thousands of them can share one queue and a few threads.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from apimachinery.errors import APIError, Conflict, ControllerRuntimeError, NotFound
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.names import label_errors, subdomain_errors
from apimachinery.objects import Cached, ObjectKey, cached_from_bytes
from apimachinery.stop import Stop
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.workers import Workers
from controller_runtime.queue.rate_limiters import ItemExponential
from controller_runtime.queue.workqueue import WorkQueue
from controllers.heartbeat.step import (
    FIRST_PAUSE,
    JITTER,
    LONGEST_PAUSE,
    Answer,
    Ask,
    Heartbeat,
    LeaseFields,
    Reply,
    Step,
    advance,
    lease_to_write,
    next_renew_time,
    renew_time_of,
)

log = get_logger(__name__)

PostProcess = Callable[[dict[str, Any]], None]
"""Edits a lease in place before it is written; raises a `ControllerRuntimeError` if it cannot."""

DELETE_TIMEOUT = 10.0
"""Seconds that the deletion of the lease may take, at the start and at the end."""
CLOCK_TOLERANCE = 1.0
"""Seconds by which our clock may be behind the last time of the lease without a warning."""


class PostProcessFailure(enum.Enum):
    """The writes that are not sent if the post-process function fails."""

    BLOCKS_CREATE = "blocks-create"
    """Creation only. A renewal is written as far as it was edited, as in Kubernetes up to 1.28."""
    BLOCKS_CREATE_AND_UPDATE = "blocks-create-and-update"
    """Creation and renewal, as in Kubernetes 1.29 and later."""


class LeaseHeartbeat(Reconciler):
    """Creates a lease if it does not exist, and renews it every `renew_interval` seconds.

    Once the lease exists, a renewal is one request, based on the server's last answer. The holder of an existing lease
    is not changed.

    Each call of `reconcile` makes one request (apart from those of the post-process), and returns when the next one is
    due. After a successful read it also makes the following write, so that the write does not wait behind other keys in
    the queue. The heartbeat can end after any call.

    Args:
        host: The source of the time, which is written into the lease, and of waiting.
        client: Reads and writes the lease; its timeout should be well below the lease's duration. None turns the
            heartbeat off.
        holder_identity: The identity of the component; written only when the lease is created.
        lease_duration_seconds: Seconds for which a renewal is valid.
        renew_interval: Seconds from the end of a renewal, with its tries, to the next one, stretched by up to 4 %.
        lease_namespace: Namespace of the lease.
        lease_name: Name of the lease; None for the holder identity, as in Kubernetes up to 1.25.
        on_repeated_heartbeat_failure: Called after each failed try of a renewal except the first of up to five in a
            row, and not after a conflict. It should close connections, since they may be broken.
        new_lease_post_process: Edits the lease before it is created or renewed.
        post_process_failure: The writes that are not sent if `new_lease_post_process` fails.
        delete_on_start_and_stop: `run` deletes the lease at its start and its end, for holders whose identity changes
            with each start.
        is_quiet: Log only at debug level, for an owner of many heartbeats that reads `trouble` and `behind`.

    Raises:
        ValueError: A name is invalid in the API, a time is not positive, or the interval is not shorter than the
            duration, so that the lease would expire between two renewals.

    Attributes:
        trouble: Why the lease is currently not renewed; empty if it is renewed, and before the first failure.
        behind: Seconds by which our clock was behind the time in the lease at the last renewal. It is 0.0 up to
            `CLOCK_TOLERANCE`, and again once the clock has caught up.

    Threads: `reconcile` from one at a time, as a work queue with one key for each heartbeat calls it.
    """

    def __init__(
        self,
        host: Host,
        client: Client | None,
        *,
        holder_identity: str,
        lease_duration_seconds: int,
        renew_interval: float,
        lease_namespace: str,
        lease_name: str | None = None,
        on_repeated_heartbeat_failure: Callable[[], None] | None = None,
        new_lease_post_process: PostProcess | None = None,
        post_process_failure: PostProcessFailure = PostProcessFailure.BLOCKS_CREATE,
        delete_on_start_and_stop: bool = False,
        is_quiet: bool = False,
    ) -> None:
        self.key = ObjectKey(holder_identity if lease_name is None else lease_name, lease_namespace)
        _refuse_bad_names(self.key, holder_identity)
        if not 0 < renew_interval < lease_duration_seconds:
            raise ValueError(
                f"renew_interval ({renew_interval}) must be positive and below "
                f"lease_duration_seconds ({lease_duration_seconds}), or the lease lapses between two renewals"
            )
        self._host = host
        self._client = client
        self._fields = LeaseFields(self.key.name, lease_namespace, holder_identity, lease_duration_seconds)
        self._renew_interval = renew_interval
        self._on_repeated_failure = on_repeated_heartbeat_failure
        self._post_process = new_lease_post_process
        self._post_process_failure = post_process_failure
        self._delete_on_start_and_stop = delete_on_start_and_stop
        self._warning = log.debug if is_quiet else log.warning
        self._info = log.debug if is_quiet else log.info
        self.trouble = ""
        self.behind = 0.0
        # The fields below belong to the one call of `reconcile` that runs; so they need no lock.
        self._state = Heartbeat()
        self._renewed_to: datetime | None = None  # the latest time that the lease may carry, as far as we know
        self._has_logged_post_process = False  # a failure was logged, and no success has followed

    @property
    def name(self) -> str:
        """The name of its threads, also in the log."""
        return f"lease-heartbeat/{self.key}"

    def reconcile(self, request: Request) -> Result:
        """Make the request that is due, and the write after a successful read; return when the next request is due."""
        if self._client is None:
            return Result()
        was_read = self._state.ask is Ask.READ
        step = self._make_request(self._client)
        if was_read and self._state.ask is not Ask.READ and not step.wait and not step.pass_ends:
            step = self._make_request(self._client)
        if step.pass_ends:
            return Result(requeue_after=max(self._renew_interval, step.wait), jitter=JITTER)
        return Result(requeue_after=step.wait)

    def run(self, stop: Stop) -> None:
        """Renew the lease until `stop` is set, on a new thread; without a client, log a warning and return."""
        if self._client is None:
            log.warning("no client, so the lease is not renewed", lease=self.key)
            return
        if stop.is_set():
            return
        if self._delete_on_start_and_stop:
            self._delete(self._client)
        queue: WorkQueue[Request] = WorkQueue(
            self._host, name=self.name, limiter=ItemExponential(FIRST_PAUSE, LONGEST_PAUSE)
        )
        workers = Workers(self._host, self.name, self, queue, stop)
        queue.add(self.key)
        stop.on_set(queue.shut_down)
        workers.start(1)
        workers.join_until(None)
        if self._delete_on_start_and_stop:  # the workers have ended, so no renewal can create it again
            self._delete(self._client)

    def _make_request(self, client: Client) -> Step:
        """Make the request that is due, and return the consequences of its answer."""
        answer = self._answer(client)
        step = advance(self._state, answer)
        self._log(answer, step)
        self._state = step.state
        if step.failed_again and self._on_repeated_failure is not None:
            self._on_repeated_failure()
        return step

    def _answer(self, client: Client) -> Answer:
        """Make the request that is due, and return its answer."""
        try:
            match self._state.ask:
                case Ask.READ:
                    found = client.get(LEASES, self.key, dict)
                    self._renewed_to = renew_time_of(found, self._renewed_to)
                    return Answer(Reply.DONE, cached_from_bytes(msgspec.json.encode(found)))
                case Ask.CREATE:
                    return self._write(client.create, None, Reply.WITHHELD)
                case Ask.RENEW:
                    blocks = self._post_process_failure is PostProcessFailure.BLOCKS_CREATE_AND_UPDATE
                    return self._write(client.update, self._state.base, Reply.FAILED if blocks else None)
        except NotFound as error:
            return Answer(Reply.MISSING if self._state.ask is Ask.READ else Reply.FAILED, why=str(error))
        except Conflict as error:
            return Answer(Reply.CONFLICT, why=str(error))
        except APIError as error:
            # Bounded, because the lease would expire while we wait for longer.
            retry_after = min(error.retry_after or 0.0, self._renew_interval)
            return Answer(Reply.FAILED, why=str(error), retry_after=retry_after)
        except ControllerRuntimeError as error:
            return Answer(Reply.FAILED, why=str(error))

    def _write(self, write: Callable[..., Cached], base: Cached | None, if_failed: Reply | None) -> Answer:
        """Write the lease; if the post-process fails, return `if_failed` instead, unless that is None."""
        now = self._host.now()
        at = next_renew_time(now, self._renewed_to)
        self._note_clock(behind=(at - now).total_seconds())
        lease = lease_to_write(base, self._fields, at)
        if self._post_process is not None:
            try:
                self._post_process(lease)
                self._has_logged_post_process = False
            except ControllerRuntimeError as error:
                if if_failed is not None:
                    return Answer(if_failed, why=f"post-process: {error}")
                write_log = log.debug if self._has_logged_post_process else self._warning
                write_log("post-process failed, renewing all the same", lease=self.key, error=error)
                self._has_logged_post_process = True
        self._renewed_to = at  # before the answer: a request without an answer may have been carried out
        return Answer(Reply.DONE, write(LEASES, lease))

    def _note_clock(self, behind: float) -> None:
        """Set `behind`; log once when the clock falls behind the last time of the lease, and once when it caught up."""
        before, threshold = self.behind, 0.0 if self.behind else CLOCK_TOLERANCE
        self.behind = behind if behind > threshold else 0.0
        if self.behind and not before:
            self._warning("clock is behind the lease, renewing from its last time", lease=self.key, behind=behind)
        elif before and not self.behind:
            self._info("clock has caught up with the lease", lease=self.key)

    def _log(self, answer: Answer, step: Step) -> None:
        """Log once when renewals begin to fail and once when they succeed again; other failures at debug level."""
        if answer.reply is Reply.DONE:
            if self.trouble and step.pass_ends:
                self.trouble = ""
                self._info("lease is renewed again", lease=self.key)
            return
        # A failure that is tried again at once, such as a conflict, is not worth a warning yet.
        is_trouble = step.wait > 0 or step.pass_ends
        write_log = self._warning if is_trouble and not self.trouble else log.debug
        write_log("lease is not renewed", lease=self.key, asked=self._state.ask.name, error=answer.why)
        if is_trouble:
            self.trouble = answer.why

    def _delete(self, client: Client) -> None:
        try:
            client.within(DELETE_TIMEOUT).delete(LEASES, self.key)
        except NotFound:
            pass
        except ControllerRuntimeError as error:
            log.warning("cannot delete the lease", lease=self.key, error=error)


def _refuse_bad_names(lease: ObjectKey, holder: str) -> None:
    if not holder:
        raise ValueError("a lease needs a holder: holder_identity is empty")
    for what, name, problems in (
        ("lease", lease.name, subdomain_errors(lease.name)),
        ("namespace", lease.namespace, label_errors(lease.namespace)),
    ):
        if problems:
            raise ValueError(f"{name!r} cannot be the name of a {what}: {problems[0]}")
