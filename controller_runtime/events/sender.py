# SPDX-License-Identifier: Apache-2.0
"""Brings one write to the server: patch, or create where there is nothing to patch, or try again later."""

from __future__ import annotations

from controller_runtime.api.objects import ObjectKey
from controller_runtime.client.client import Client
from controller_runtime.core.errors import (
    AlreadyExists,
    ConnectionLost,
    ControllerRuntimeError,
    NotFound,
    ServerError,
    TooManyRequests,
)
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.events.occurrence import Fate, Write

log = get_logger(__name__)

TRIES = 12
"""How often one write is tried in all, as client-go does."""

RETRY_PERIOD = 10.0
"""Seconds between tries."""

JITTER = 0.1
"""The part of the period by which it is stretched at random."""


class Sender:
    """Sends writes one after the other. One thread's own.

    Args:
        host: Whose chance spreads the tries.
        client: Makes the requests.
        stop: Once it is set, each write is tried once.
    """

    def __init__(self, host: Host, client: Client, stop: Stop) -> None:
        self._host = host
        self._client = client
        self._stop = stop

    def send(self, write: Write) -> Fate:
        """Make one write; `WRITTEN` or `FAILED`. A refusal is final, no answer is not."""
        tries = 0
        while True:
            tries += 1
            try:
                self._make(write)
            except AlreadyExists:  # an earlier try arrived, and its answer did not
                return Fate.WRITTEN
            except (ConnectionLost, ServerError, TooManyRequests) as error:
                if tries == TRIES or self._stop.wait(self._delay(tries, error)):
                    return _failed(write, error)
            except ControllerRuntimeError as error:
                return _failed(write, error)
            else:
                return Fate.WRITTEN

    def _make(self, write: Write) -> None:
        if write.patch is not None:
            metadata = write.body["metadata"]
            try:
                self._client.patch(write.through, ObjectKey(metadata["name"], metadata["namespace"]), write.patch)
                return
            except NotFound:  # events live for an hour or so, series for longer
                pass
        self._client.create(write.resource, write.body)

    def _delay(self, tries: int, error: ControllerRuntimeError) -> float:
        """Seconds until the next try; the first one spreads whoever lost the same server."""
        chance = self._host.random.random()
        delay = RETRY_PERIOD * (chance if tries == 1 else 1.0 + JITTER * chance)
        return max(delay, error.retry_after or 0.0) if isinstance(error, TooManyRequests) else delay


def _failed(write: Write, error: ControllerRuntimeError) -> Fate:
    event = "{namespace}/{name}".format(**write.body["metadata"])
    log.warning("event lost", event=event, reason=write.body["reason"], error=f"{type(error).__name__}: {error}")
    return Fate.FAILED
