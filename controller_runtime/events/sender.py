# SPDX-License-Identifier: Apache-2.0
"""Sends one write to the server: patches or creates an event, and tries again after some errors."""

from __future__ import annotations

from apimachinery.errors import (
    AlreadyExists,
    ConnectionLost,
    ControllerRuntimeError,
    Forbidden,
    NotFound,
    ServerError,
    TooManyRequests,
)
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.events.occurrence import OccurrenceFate, Write

log = get_logger(__name__)

TRIES = 12
"""The number of tries of one write, as in client-go."""

RETRY_PERIOD = 10.0
"""Seconds between tries, as in client-go."""

JITTER = 0.1
"""Each period is lengthened by a random part of this share of it, so that replicas do not try at the same time."""


class Sender:
    """Sends writes one after the other.

    Args:
        host: The source of time and randomness for the delays between tries.
        client: Sends the requests.
        stop: Once it is set, each write is tried only once.

    Threads: one.
    """

    def __init__(self, host: Host, client: Client, stop: Stop) -> None:
        self._host = host
        self._client = client
        self._stop = stop
        self._was_forbidden = False

    def send(self, write: Write) -> OccurrenceFate:
        """Send one write and return `WRITTEN` or `FAILED`.

        The write is tried again if there was no answer, or the answer was a server error (5xx) or 429. Other errors are
        final.
        """
        tries = 0
        while True:
            tries += 1
            try:
                self._make(write)
            except AlreadyExists:  # an earlier try had arrived, though its answer was lost
                return OccurrenceFate.WRITTEN
            except (ConnectionLost, ServerError, TooManyRequests) as error:
                if tries == TRIES or self._stop.wait(self._delay(tries, error)):
                    return _failed(write, error)
            except Forbidden as error:
                return self._forbidden(write, error)
            except ControllerRuntimeError as error:
                return _failed(write, error)
            else:
                return OccurrenceFate.WRITTEN

    def _make(self, write: Write) -> None:
        if write.patch is not None:
            metadata = write.body["metadata"]
            try:
                self._client.patch(write.through, ObjectKey(metadata["name"], metadata["namespace"]), write.patch)
                return
            except NotFound:  # the server deletes events after an hour; a series may go on for longer
                pass
        self._client.create(write.resource, write.body)

    def _forbidden(self, write: Write, error: Forbidden) -> OccurrenceFate:
        """Log once which right is missing: without it every event is lost, and the program works all the same."""
        if self._was_forbidden:
            log.debug("event lost", event=_name_of(write), reason=write.body["reason"], error=error)
            return OccurrenceFate.FAILED
        self._was_forbidden = True
        log.warning("events are lost: let the role create and patch them", error=error)
        return OccurrenceFate.FAILED

    def _delay(self, tries: int, error: ControllerRuntimeError) -> float:
        """Return the seconds until the next try: at least the `Retry-After` of a 429.

        The first delay is any part of the period, so that the clients of a server that went away do not all return
        at once. Later delays are the period, lengthened by up to `JITTER`.
        """
        chance = self._host.random.random()
        delay = RETRY_PERIOD * (chance if tries == 1 else 1.0 + JITTER * chance)
        return max(delay, error.retry_after or 0.0) if isinstance(error, TooManyRequests) else delay


def _name_of(write: Write) -> str:
    return "{namespace}/{name}".format(**write.body["metadata"])


def _failed(write: Write, error: ControllerRuntimeError) -> OccurrenceFate:
    text = f"{type(error).__name__}: {error}"
    log.warning("event lost", event=_name_of(write), reason=write.body["reason"], error=text)
    return OccurrenceFate.FAILED
