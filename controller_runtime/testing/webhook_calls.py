# SPDX-License-Identifier: Apache-2.0
"""Calls an embedded server's webhooks in the same process: those of a cluster's manager, and a test's own.

No TLS and no certificates are involved. In a simulation a call is a request on the simulated network, from the server's
host to the manager's, so it takes virtual time, can time out and has faults; otherwise it is a function call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from apimachinery.admission import AdmissionRequest
from apimachinery.errors import ConnectionLost
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from apimachinery.plain_functions import synchronous
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Transport
from controller_runtime.testing.faults import Faults, FaultyTransport
from controller_runtime.testing.manager_process import ManagerMachine
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.simulation import SimulatedHost
from controller_runtime.testing.simulation.system_faults import ScriptedFaults
from embedded_apiserver.webhooks import TIMED_OUT, Target, Unreached, refused, unreachable

_HTTPS = 443


class Webhook(Protocol):
    """Answers the requests of an API server to one or several webhooks."""

    def handle(self, request: HTTPRequest) -> HTTPResponse:
        """Return the response to a request; it never raises."""


@runtime_checkable
class Served(Webhook, Protocol):
    """The webhooks of a manager."""

    @property
    def is_serving(self) -> bool:
        """True while the webhooks are served; otherwise calls are refused."""

    @property
    def service(self) -> ObjectKey:
        """The service that the configurations of these webhooks name."""

    def admitted(self, path: str, request: AdmissionRequest, timeout: float) -> HTTPResponse | None:
        """Return the response to an admission review, as `handle` does; None if it allows the write and contains
        nothing else.

        Args:
            path: The path of the webhook.
            request: The request to be reviewed.
            timeout: Seconds for the call.
        """


class ClusterCaller:
    """Calls webhooks in this process; a `Caller`.

    Args:
        host: The host of the server.
        machine: The machine of the manager, on which webhooks run.
        webhooks: Webhooks by their service, `namespace/name`, or by the host of their URL.
        of_manager: Returns the webhooks of the present manager; None if it has none.
        faults: The faults of calls; None for none.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        machine: ManagerMachine,
        webhooks: Mapping[str, Webhook],
        of_manager: Callable[[], object],
        faults: Faults | None = None,
    ) -> None:
        self._host = host
        self._machine = machine
        self._webhooks = webhooks
        self._of_manager = of_manager
        self._faults = None if faults is None else synchronous("webhook_faults", faults)
        self._hands = faults is None and not isinstance(host, SimulatedHost)
        self._reached: dict[int, tuple[Host, Transport]] = {}
        self._last_handed: tuple[Served | None, Target | None] = (None, None)
        self._of_last_manager: tuple[object, Served | None] = (None, None)

    def call(self, target: Target, request: HTTPRequest, timeout: float) -> HTTPResponse:
        """Send a request to a webhook and return its response. See `Caller.call`.

        Raises:
            Unreached: There is no such webhook, it is not served, the connection is lost, or there is no answer within
                `timeout` seconds.
        """
        webhook, deadline = self._webhook(target), self._host.monotonic() + timeout
        if webhook is None:
            raise unreachable(target)
        if not self._machine.is_alive or not getattr(webhook, "is_serving", True):
            raise _nothing_listens(target)
        try:
            answer = self._transport(webhook).request(request, deadline)
        except ConnectionLost as error:
            if self._host.monotonic() >= deadline:
                raise Unreached(TIMED_OUT) from error
            raise _nothing_listens(target) if "refused" in str(error) else Unreached("EOF") from error
        if self._host.monotonic() > deadline:  # a function that was called cannot be stopped
            raise Unreached(TIMED_OUT)
        return answer

    def hand(self, target: Target, request: Callable[[], AdmissionRequest], timeout: float) -> HTTPResponse | bool:
        """Call a webhook of the manager directly, without encoding the review. See `Handing.hand`.

        Returns:
            True if the webhook allows the write without a patch or a warning; False if the review must be sent by
            `call`, as in a simulation, with faults, or with a test's own webhooks; otherwise the response.

        Raises:
            Unreached: The webhook is not served, or does not answer within `timeout` seconds.
        """
        if not self._hands or self._webhooks or (served := self._served()) is None:
            return False
        known, place = self._last_handed
        if known is not served or place is not target:
            if not _is_at(served, target):
                return False
            if served.is_serving:  # their service is settled then
                self._last_handed = served, target
        if not served.is_serving:
            raise _nothing_listens(target)
        deadline = self._host.monotonic() + timeout
        answer = served.admitted(target.path, request(), timeout)
        if self._host.monotonic() > deadline:  # a function that was called cannot be stopped
            raise Unreached(TIMED_OUT)
        return True if answer is None else answer

    def _webhook(self, target: Target) -> Webhook | None:
        service = target.service
        if service is None:
            return self._webhooks.get(urlsplit(target.url).hostname or "")
        found = self._webhooks.get(f"{service.namespace}/{service.name}") if self._webhooks else None
        if found is not None or (served := self._served()) is None:
            return found
        return served if _is_at(served, target) else None

    def _served(self) -> Served | None:
        """Return the webhooks of the present manager; whether it has any is looked at once for each manager."""
        known, served = self._of_last_manager
        present = self._of_manager()
        if present is not known:
            served = present if isinstance(present, Served) else None
            self._of_last_manager = present, served
        return served

    def _transport(self, webhook: Webhook) -> Transport:
        host, (served_on, transport) = self._machine.host, self._reached.get(id(webhook), (None, None))
        if transport is None or served_on is not host:
            transport = _connected(self._host, host, webhook)
            if self._faults is not None:
                transport = FaultyTransport(self._host, transport, self._faults)
            self._reached[id(webhook)] = host, transport
        return transport


def _is_at(served: Served, target: Target) -> bool:
    """Return whether a target is the service that the configurations of a manager's webhooks name."""
    if (service := target.service) is None:
        return False
    name, namespace = served.service
    return name == service.name and namespace == service.namespace


class _Straight:
    """A transport that calls a webhook on the thread of the caller, or a handler for a simulated network."""

    def __init__(self, webhook: Webhook) -> None:
        self._webhook = webhook

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse:
        return self._webhook.handle(request)


def _connected(host: Host, served_on: Host, webhook: Webhook) -> Transport:
    handler = _Straight(webhook)
    if not isinstance(host, SimulatedHost) or not isinstance(served_on, SimulatedHost):
        return InProcessTransport(host, handler)
    network = Network(host.simulation, ScriptedFaults(()), [], latency=0.0)
    network.serve(served_on, handler)
    return NetworkTransport(network, host)


def _nothing_listens(target: Target) -> Unreached:
    where = urlsplit(target.url)
    return refused(where.hostname or "", where.port or _HTTPS)
