# SPDX-License-Identifier: Apache-2.0
"""Gives a lease back: clears its holder if that is still this replica, so that the next leader need not wait."""

from __future__ import annotations

from apimachinery.errors import APIError, Conflict, ConnectionLost, DecodeError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import microtime
from apimachinery.stop import Stop
from controller_runtime.election.lease_lock import LeaseLock
from controller_runtime.election.record import LeaseRecord

log = get_logger(__name__)


def release(lock: LeaseLock, identity: str, host: Host, stop: Stop, deadline: float) -> LeaseRecord | None:
    """Clear the holder of the lease, and return the new record.

    None is returned if another replica or nobody holds it, if `stop` was cancelled or the deadline has passed before
    that, or if a request failed.

    The lease is read first, and the write names the resourceVersion that was read. So the holder is never cleared if
    another replica took the lease, even a moment ago. Only a conflict is tried again; any other error is logged.

    Args:
        lock: The lease.
        identity: The identity of this replica.
        host: The source of the time.
        stop: When it is cancelled, no further attempt is made.
        deadline: The end of all attempts, in absolute monotonic seconds.
    """
    try:
        while not stop.is_cancelled() and host.monotonic() < deadline:
            record = lock.read(deadline)
            if record.holder != identity:
                return None
            free = LeaseRecord.free(microtime(host.now()), record.transitions)
            try:
                lock.update(free, deadline)
            except Conflict:  # written by another client since we read it: look again
                continue
            log.info("released the lease", lease=lock, identity=identity)
            return free
    except (APIError, ConnectionLost, DecodeError) as error:
        log.warning("lease not released, it will expire", lease=lock, error=error)
    return None
