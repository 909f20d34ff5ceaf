# SPDX-License-Identifier: Apache-2.0
"""Keeps one Lease fresh on behalf of one component, as Kubernetes' components do.

It makes one request at a time, a write right after the read that it is built on, and leaves every wait
to a queue. So it is a program of its own (`run`), or one of thousands behind a queue that carries the names
of their leases.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from controller_runtime.api.names import label_problems, subdomain_problems
from controller_runtime.api.objects import Cached, ObjectKey, cached_from_bytes
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.workers import Workers
from controller_runtime.core.errors import APIError, Conflict, ControllerRuntimeError, NotFound
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.queue.rate_limiters import ItemExponential
from controller_runtime.queue.workqueue import WorkQueue
from controllers.heartbeat.step import (
    FIRST_PAUSE,
    JITTER,
    LONGEST_PAUSE,
    Answer,
    Ask,
    Heartbeat,
    Reply,
    Step,
    Terms,
    advance,
    content,
    next_renew_time,
    renew_time_of,
)

log = get_logger(__name__)

PostProcess = Callable[[dict[str, Any]], None]
"""Edits a lease in place before it is written. A `ControllerRuntimeError` says that it could not."""

DELETE_TIMEOUT = 10.0
"""Seconds for the deletion of the lease, at the start and at the end."""
CLOCK_TOLERANCE = 1.0
"""Seconds by which our clock may be behind the lease's last time without a warning."""


class PostProcessFailure(enum.Enum):
    """What a failing post-process keeps from being written."""

    BLOCKS_CREATE = "blocks-create"
    """A renewal is written all the same, as far as it was edited: Kubernetes up to 1.28."""
    BLOCKS_CREATE_AND_UPDATE = "blocks-create-and-update"
    """Nothing is written: Kubernetes 1.29 and later."""


class LeaseHeartbeat(Reconciler):
    """Makes a lease if there is none, and renews it every `renew_interval` for as long as it runs.

    In the steady state a renewal is one request, built on the server's last answer. The
    holder of a lease that is there already is left as it is.

    Each call of `reconcile` makes one request (and those of the post-process), or two where the first is
    a read that was answered: the write follows at once, so that it does not stand in the queue a second time.
    It says when to make the next one; between two calls it can be given up at any time. Calls for
    one heartbeat must not overlap, which a work queue sees to.

    Args:
        host: Its clock is written into the lease; `run` waits on it.
        client: Writes the lease; give it a timeout well below the lease's duration. None:
            there is nothing to keep fresh.
        holder_identity: On whose behalf; written when the lease is made.
        lease_duration_seconds: For how long others shall trust a renewal.
        renew_interval: Seconds between a pass and the next one, stretched by up to 4 %.
        lease_namespace: Where the lease is.
        lease_name: Its name; None is the holder's, as in Kubernetes up to 1.25.
        on_repeated_heartbeat_failure: Called after every failed renewal but the first in a row of
            up to five; conflicts do not count. A component closes its connections.
        new_lease_post_process: Edits the lease before it is made or renewed.
        post_process_failure: What it keeps from being written when it fails.
        is_quiet: Whoever owns it looks at `trouble` and `behind` and tells, so it does not log itself.
        delete_on_start_and_stop: `run` deletes the lease before the first pass and after the
            last, for holders whose identity is another after each start.

    Raises:
        ValueError: A name that the API does not take, a time that is not positive, or an
            interval that is no shorter than the duration, so that the lease would lapse in between.

    Attributes:
        trouble: Why the lease is not kept at present; empty if it is, as far as that is known.
        behind: Seconds that the clock was behind the lease's last time at the last renewal, from the one where it
            was more than a second until it has caught up; else 0.0.

    Threads: `reconcile` from one at a time.
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
        self._terms = Terms(self.key.name, lease_namespace, holder_identity, lease_duration_seconds)
        self._renew_interval = renew_interval
        self._on_repeated_failure = on_repeated_heartbeat_failure
        self._post_process = new_lease_post_process
        self._post_process_failure = post_process_failure
        self._delete_on_start_and_stop = delete_on_start_and_stop
        self._warning = log.debug if is_quiet else log.warning
        self._info = log.debug if is_quiet else log.info
        self.trouble = ""
        self.behind = 0.0
        # Whoever holds the request in its queue owns what follows.
        self._state = Heartbeat()
        self._renewed_to: datetime | None = None  # the latest time that the lease may carry, as far as we know
        self._is_unprepared = False  # told already

    @property
    def name(self) -> str:
        """What threads and logs call it."""
        return f"lease-heartbeat/{self.key}"

    def reconcile(self, request: Request) -> Result:
        """Make the request that is due, with the write that follows a read, and say when to make the next one."""
        if self._client is None:
            return Result()
        was_read = self._state.ask is Ask.READ
        step = self._go_on(self._client)
        if was_read and self._state.ask is not Ask.READ and not step.wait and not step.pass_ends:
            step = self._go_on(self._client)
        if step.pass_ends:
            return Result(requeue_after=max(self._renew_interval, step.wait), jitter=JITTER)
        return Result(requeue_after=step.wait)

    def run(self, stop: Stop) -> None:
        """Keep the lease fresh until `stop` is set, with a worker of its own; at once over without a client."""
        if self._client is None:
            log.warning("no client, so the lease is not kept", lease=self.key)
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
        if self._delete_on_start_and_stop:  # no request is in hand any more that could bring it back
            self._delete(self._client)

    def _go_on(self, client: Client) -> Step:
        """Make the request that is due; what follows from its answer."""
        answer = self._asked(client)
        step = advance(self._state, answer)
        self._tell(answer, step)
        self._state = step.state
        if step.failed_again and self._on_repeated_failure is not None:
            self._on_repeated_failure()
        return step

    def _asked(self, client: Client) -> Answer:
        """Make the request that is due."""
        try:
            match self._state.ask:
                case Ask.READ:
                    found = client.get(LEASES, self.key, dict)
                    self._renewed_to = renew_time_of(found, self._renewed_to)
                    return Answer(Reply.DONE, cached_from_bytes(msgspec.json.encode(found)))
                case Ask.CREATE:
                    return self._written(client.create, None, Reply.WITHHELD)
                case Ask.RENEW:
                    blocks = self._post_process_failure is PostProcessFailure.BLOCKS_CREATE_AND_UPDATE
                    return self._written(client.update, self._state.base, Reply.FAILED if blocks else None)
        except NotFound as error:
            return Answer(Reply.MISSING if self._state.ask is Ask.READ else Reply.FAILED, why=str(error))
        except Conflict as error:
            return Answer(Reply.CONFLICT, why=str(error))
        except APIError as error:
            patience = min(error.retry_after or 0.0, self._renew_interval)  # a day's would be the lease's end
            return Answer(Reply.FAILED, why=str(error), retry_after=patience)
        except ControllerRuntimeError as error:
            return Answer(Reply.FAILED, why=str(error))

    def _written(self, write: Callable[..., Cached], base: Cached | None, if_unprepared: Reply | None) -> Answer:
        """Write the lease; if the post-process fails, answer `if_unprepared` instead, unless that is None."""
        now = self._host.now()
        at = next_renew_time(now, self._renewed_to)
        self._tell_of_clock(behind=(at - now).total_seconds())
        lease = content(base, self._terms, at)
        if self._post_process is not None:
            try:
                self._post_process(lease)
                self._is_unprepared = False
            except ControllerRuntimeError as error:
                if if_unprepared is not None:
                    return Answer(if_unprepared, why=f"post-process: {error}")
                tell = log.debug if self._is_unprepared else self._warning
                tell("post-process failed, renewing all the same", lease=self.key, error=error)
                self._is_unprepared = True
        self._renewed_to = at  # even if there is no answer: it may have been written
        return Answer(Reply.DONE, write(LEASES, lease))

    def _tell_of_clock(self, behind: float) -> None:
        """Log once when the clock falls behind the lease's last time, and once when it has caught up."""
        before, self.behind = self.behind, behind if behind > (0.0 if self.behind else CLOCK_TOLERANCE) else 0.0
        if self.behind and not before:
            self._warning("clock is behind the lease, renewing from its last time", lease=self.key, behind=behind)
        elif before and not self.behind:
            self._info("clock has caught up with the lease", lease=self.key)

    def _tell(self, answer: Answer, step: Step) -> None:
        """Log when renewals begin to fail and when they work again; the rest is for the curious."""
        if answer.reply is Reply.DONE:
            if self.trouble and step.pass_ends:
                self.trouble = ""
                self._info("lease is kept again", lease=self.key)
            return
        in_vain = step.wait > 0 or step.pass_ends
        tell = self._warning if in_vain and not self.trouble else log.debug
        tell("lease is not kept", lease=self.key, asked=self._state.ask.name, error=answer.why)
        if in_vain:
            self.trouble = answer.why

    def _delete(self, client: Client) -> None:
        try:
            client.within(DELETE_TIMEOUT).delete(LEASES, self.key)
        except NotFound:
            pass
        except ControllerRuntimeError as error:
            log.warning("lease cannot be deleted", lease=self.key, error=error)


def _refuse_bad_names(lease: ObjectKey, holder: str) -> None:
    if not holder:
        raise ValueError("a lease needs a holder: holder_identity is empty")
    for what, name, problems in (
        ("lease", lease.name, subdomain_problems(lease.name)),
        ("namespace", lease.namespace, label_problems(lease.namespace)),
    ):
        if problems:
            raise ValueError(f"the API takes no {what} named {name!r}: {problems[0]}")
