# SPDX-License-Identifier: Apache-2.0
"""Gives a lease back: blanks it if it still names us, so that the next leader need not wait until it expires."""

from __future__ import annotations

from controller_runtime.api.objects import microtime
from controller_runtime.core.errors import APIError, Conflict, ConnectionLost, DecodeError
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.election.lease_lock import LeaseLock
from controller_runtime.election.record import LeaseRecord

log = get_logger(__name__)


def release(lock: LeaseLock, identity: str, host: Host, stop: Stop, deadline: float) -> LeaseRecord | None:
    """Blank the lease and return what was written; None if it names another holder, or cannot be blanked in time.

    The lease is read first, and the write names the version that was read. So the lease of another
    holder is never blanked, even if it took the lease a moment ago.

    Args:
        lock: The lease.
        identity: Our holder identity.
        host: Its clock bounds the attempts, and stamps the record.
        stop: When it is cancelled, no further attempt is made.
        deadline: Absolute monotonic seconds by which all of it must be over.
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
