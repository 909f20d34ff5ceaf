# SPDX-License-Identifier: Apache-2.0
"""Asks which rights of a ring's member this process lacks: some are not used before a member dies or leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from apimachinery.errors import UNREADABLE, APIError, ConnectionLost, DecodeError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.log import get_logger
from apimachinery.stop import Stop
from controller_runtime.api.resources import Resource
from controller_runtime.client.answers import check
from controller_runtime.client.transport import Transport
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.rights import RingRight, rights_of

log = get_logger(__name__)

_REVIEWS: Resource[Any] = Resource(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
AGAIN = 600.0
"""Seconds between two reviews of the rights: a role may be changed while the program runs."""
SOON = 30.0
"""Seconds until the next review while a right is missing, or the server did not answer."""
PATIENCE = 10.0
"""The timeout of one request, in seconds."""


class _ReviewStatus(msgspec.Struct, gc=False):
    allowed: bool = False


class _AccessReview(msgspec.Struct, gc=False):
    status: _ReviewStatus = msgspec.field(default_factory=_ReviewStatus)


_decode = msgspec.json.Decoder(_AccessReview).decode


class RightsReview:
    """Asks the server about each right of a ring member, and logs missing rights; a runnable.

    Each authenticated user may ask about its own rights, by the ClusterRole `system:basic-user`. If the server refuses
    or does not serve that, the findings of the last complete review stay: at first, that none is missing.

    Args:
        host: The source of the time.
        transport: Carries the requests.
        config: The configuration of the ring.
        asked_by_name: Returns the kinds (with namespaces) whose objects the ring gets by name, to see whether they are
            gone.

    Attributes:
        name: The name of the runnable.

    Threads: `run` on one; `missing` from any.
    """

    def __init__(
        self,
        host: Host,
        transport: Transport,
        config: RingConfig,
        asked_by_name: Callable[[], Iterable[tuple[Resource[Any], str]]],
    ) -> None:
        self.name = f"rights of ring/{config.name}"
        self._host, self._transport, self._config, self._asked_by_name = host, transport, config, asked_by_name
        self._missing: tuple[RingRight, ...] = ()  # replaced as a whole by the thread of `run`

    @property
    def missing(self) -> tuple[RingRight, ...]:
        """The rights that the last complete review found missing."""
        return self._missing

    def run(self, stop: Stop) -> None:
        """Review the rights periodically until `stop` is set."""
        pause = 0.0
        while not stop.wait(pause):
            pause = AGAIN if self._look(stop) else SOON

    def _look(self, stop: Stop) -> bool:
        """Ask about each right; return True if all were granted, or `stop` was set meanwhile.

        False: one is missing, or the server could not be asked.
        """
        missing = []
        rights = rights_of(self._config.name, self._config.namespace, self._asked_by_name())
        for right in rights:
            if stop.is_set():
                return True
            try:
                is_granted = self._may(right)
            except (APIError, ConnectionLost, DecodeError) as error:
                log.debug("a right of a ring's member is unknown", ring=self._config.name, right=right, error=error)
                return False
            if not is_granted:
                missing.append(right)
        self._tell(tuple(missing))
        return not missing

    def _may(self, right: RingRight) -> bool:
        """Return whether the server grants a right.

        Raises:
            APIError: The server does not say.
            ConnectionLost: No answer came in time.
            DecodeError: The answer cannot be read.
        """
        body = {"apiVersion": _REVIEWS.api_version, "kind": _REVIEWS.kind}
        spec = {"spec": {"resourceAttributes": right.attributes()}}
        headers = {"content-type": "application/json", "accept": "application/json"}
        request = HTTPRequest("POST", _REVIEWS.path(), (), headers, msgspec.json.encode(body | spec))
        answer = check(self._transport.request(request, self._host.monotonic() + PATIENCE))
        try:
            return _decode(answer.body).status.allowed
        except UNREADABLE as error:
            raise DecodeError(f"{_REVIEWS.plural}: {error}") from None

    def _tell(self, missing: tuple[RingRight, ...]) -> None:
        before, self._missing = self._missing, missing
        ring = self._config.name
        for right in missing:
            if right not in before:
                log.warning("a right of a ring's member is missing", ring=ring, right=right, advice=right.advice)
        for right in before:
            if right not in missing:
                log.info("a right of a ring's member is there now", ring=ring, right=right)
