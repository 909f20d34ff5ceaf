# SPDX-License-Identifier: Apache-2.0
"""How the server's core reaches webhooks: by a caller that is given to it, since the core opens no connections.

The core decides what is called, with what, and what an answer means. A caller decides how a request gets there: over
TLS, or in this process.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable
from urllib.parse import urlsplit

from apimachinery.admission import AdmissionRequest
from apimachinery.http import HTTPRequest, HTTPResponse

_HTTPS = 443


class Service(NamedTuple):
    """A port of a service in the cluster."""

    namespace: str
    name: str
    port: int = _HTTPS

    @property
    def host(self) -> str:
        """The DNS name for which the webhook's certificate must be valid."""
        return f"{self.name}.{self.namespace}.svc"


class Target(NamedTuple):
    """The address of a webhook.

    Attributes:
        url: The URL without a query, as shown in messages.
        service: The service, if the configuration names one; `url` then contains its DNS name. None otherwise.
        ca_bundle: The trusted certificate authorities, in PEM form; empty for those of the system.
        is_trusted: True to accept any certificate, as for the health check of a component on this machine.
    """

    url: str
    service: Service | None = None
    ca_bundle: str = ""
    is_trusted: bool = False

    @classmethod
    def of(cls, client_config: Mapping[str, Any], ca_bundle: str) -> Self:
        """Return the target for a `clientConfig` of the API."""
        found = client_config.get("service")
        if not found:
            return cls(client_config["url"], None, ca_bundle)
        service = Service(found["namespace"], found["name"], found.get("port") or _HTTPS)
        path = (found.get("path") or "").lstrip("/")
        return cls(f"https://{service.host}:{service.port}/{path}", service, ca_bundle)

    @property
    def path(self) -> str:
        """The path of the target's URL."""
        return _path_of(self.url)


@functools.lru_cache(maxsize=256)
def _path_of(url: str) -> str:
    start = url.find("/", url.find("://") + 3)
    return url[start:] if start >= 0 else "/"


class Unreached(Exception):
    """A webhook sent no response; the message is that of a real API server's HTTP client."""


class UnknownService(Unreached):
    """The caller has no address for a service. The server then derives the error from the service's objects."""


TIMED_OUT = "context deadline exceeded"
"""The words for a webhook that took too long."""


class Caller(Protocol):
    """Sends requests to webhooks.

    Threads: any; no lock of the server is held during a call.
    """

    def call(self, target: Target, request: HTTPRequest, timeout: float) -> HTTPResponse:
        """Send a request to a webhook and return the response.

        Args:
            target: The address of the webhook.
            request: The request; its path must be that of the target.
            timeout: The timeout of the call, in seconds.

        Raises:
            Unreached: There is no response in time.
        """


Hand = Callable[[Target, Callable[[], AdmissionRequest], float], "HTTPResponse | bool"]
"""Hands a review to a webhook; see `Handing.hand`."""


@runtime_checkable
class Handing(Caller, Protocol):
    """A caller that can also pass reviews to webhooks in the same process, without encoding them."""

    def hand(self, target: Target, request: Callable[[], AdmissionRequest], timeout: float) -> HTTPResponse | bool:
        """Pass a v1 AdmissionReview to a webhook in this process, without HTTP, if the webhook can take it.

        Args:
            target: The address of the webhook.
            request: A function that returns the `request` of the review.
            timeout: The timeout of the call, in seconds.

        Returns:
            True if the webhook allows the write without a patch or a warning; False if the review must be sent by
            `call`; otherwise the response.

        Raises:
            Unreached: There is no response in time.
        """


def hand_of(caller: Caller) -> Hand:
    """Return the function that passes reviews to webhooks in this process; for a caller without one, a function that
    passes none.
    """
    return caller.hand if isinstance(caller, Handing) else _hands_nothing


def _hands_nothing(target: Target, request: Callable[[], AdmissionRequest], timeout: float) -> bool:
    return False


class Nowhere:
    """A caller that fails each call, for a server without webhooks."""

    def call(self, target: Target, request: HTTPRequest, timeout: float) -> HTTPResponse:
        """Fail the call.

        Raises:
            Unreached: Always.
        """
        raise unreachable(target)


def unreachable(target: Target) -> Unreached:
    """Return the error for a call to a target that cannot be reached."""
    if target.service is not None:
        return UnknownService(f'service "{target.service.name}" not found')
    where = urlsplit(target.url)
    return refused(where.hostname or "", where.port or _HTTPS)


def refused(host: str, port: int) -> Unreached:
    """Return the error for a call to an address at which no server listens."""
    return Unreached(f"dial tcp {host}:{port}: connect: connection refused")
