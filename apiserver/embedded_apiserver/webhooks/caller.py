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
    """A service of the cluster, at one of its ports."""

    namespace: str
    name: str
    port: int = _HTTPS

    @property
    def host(self) -> str:
        """The name by which its certificate must be valid."""
        return f"{self.name}.{self.namespace}.svc"


class Target(NamedTuple):
    """The address of a webhook.

    Attributes:
        url: The URL without a query, as messages show it.
        service: The service, if the configuration names one; the URL is then one of its name.
        ca_bundle: The certificates, in PEM form, of which one must have signed the webhook's; empty to trust those
            that the system trusts.
        is_trusted: Whether any certificate will do, as when a component on this machine is asked for its health.
    """

    url: str
    service: Service | None = None
    ca_bundle: str = ""
    is_trusted: bool = False

    @classmethod
    def of(cls, client_config: Mapping[str, Any], ca_bundle: str) -> Self:
        """Return the target of a `clientConfig`."""
        found = client_config.get("service")
        if not found:
            return cls(client_config["url"], None, ca_bundle)
        service = Service(found["namespace"], found["name"], found.get("port") or _HTTPS)
        path = (found.get("path") or "").lstrip("/")
        return cls(f"https://{service.host}:{service.port}/{path}", service, ca_bundle)

    @property
    def path(self) -> str:
        """The path of the URL."""
        return _path_of(self.url)


@functools.lru_cache(maxsize=256)
def _path_of(url: str) -> str:
    start = url.find("/", url.find("://") + 3)
    return url[start:] if start >= 0 else "/"


class Unreached(Exception):
    """A webhook gave no answer; the message says why, in the words of a real server's HTTP client."""


class UnknownService(Unreached):
    """The caller does not know what stands behind a service; the server then says why from its own objects."""


TIMED_OUT = "context deadline exceeded"
"""The words for a webhook that took too long."""


class Caller(Protocol):
    """Sends requests to webhooks.

    Threads: any; no lock of the server is held during a call.
    """

    def call(self, target: Target, request: HTTPRequest, timeout: float) -> HTTPResponse:
        """Send a request and return the answer.

        Args:
            target: The webhook.
            request: The request; its path is that of the target.
            timeout: Seconds after which the call is given up.

        Raises:
            Unreached: There is no answer in time.
        """


Hand = Callable[[Target, Callable[[], AdmissionRequest], float], "HTTPResponse | bool"]
"""Hands a review to a webhook; see `Handing.hand`."""


@runtime_checkable
class Handing(Caller, Protocol):
    """A caller that can hand reviews to webhooks of this process, without encoding them."""

    def hand(self, target: Target, request: Callable[[], AdmissionRequest], timeout: float) -> HTTPResponse | bool:
        """Pass a v1 AdmissionReview to a webhook in this process, without HTTP, if the webhook can take it.

        Args:
            target: Where to.
            request: Returns the request of the review.
            timeout: Seconds after which the call is given up.

        Returns:
            True if the webhook allows the write without a patch or a warning; False if the review has to be sent by
            `call`; or the answer.

        Raises:
            Unreached: There is no answer in time.
        """


def hand_of(caller: Caller) -> Hand:
    """Return what hands reviews to the webhooks of a caller; to one that only sends, none is handed."""
    return caller.hand if isinstance(caller, Handing) else _hands_nothing


def _hands_nothing(target: Target, request: Callable[[], AdmissionRequest], timeout: float) -> bool:
    return False


class Nowhere:
    """A caller that reaches nothing: that of a server in a process which serves no webhooks."""

    def call(self, target: Target, request: HTTPRequest, timeout: float) -> HTTPResponse:
        """Refuse the call.

        Raises:
            Unreached: Always.
        """
        raise unreachable(target)


def unreachable(target: Target) -> Unreached:
    """Return the refusal of a call to a target that leads nowhere."""
    if target.service is not None:
        return UnknownService(f'service "{target.service.name}" not found')
    where = urlsplit(target.url)
    return refused(where.hostname or "", where.port or _HTTPS)


def refused(host: str, port: int) -> Unreached:
    """Return the refusal of a call to an address at which nothing listens."""
    return Unreached(f"dial tcp {host}:{port}: connect: connection refused")
