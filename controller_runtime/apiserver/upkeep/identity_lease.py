# SPDX-License-Identifier: Apache-2.0
"""The lease by which an API server says that it runs: made at its start, renewed every 10 s, deleted at its end.

It goes in by the front door, as a request to the server itself. Whoever hosts the server
brings the thread and the time.
"""

from __future__ import annotations

import base64
import hashlib
import struct

import msgspec

from controller_runtime.api.http import Handler, HTTPRequest, HTTPResponse
from controller_runtime.api.objects import microtime
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

COMPONENT = "kube-apiserver"
DURATION = 3600
"""Seconds that a renewal counts."""
RENEW_INTERVAL = 10.0
JITTER = 0.04

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_LABEL_LIMIT = 63
_HTTP_CREATED, _HTTP_NOT_FOUND = 201, 404


def identity_name(hostname: str) -> str:
    """The lease's name: the same for the same host, and safe whatever the host's name."""
    words = (hostname.encode(), COMPONENT.encode())
    digest = hashlib.sha256(b"".join(struct.pack(">H", len(word)) + word for word in words)).digest()
    return "apiserver-" + base64.b32encode(digest[:16]).decode().rstrip("=").lower()


class IdentityLease:
    """Keeps the lease of one server process.

    Its holder is another after each start, and a holder is never rewritten, so the lease of
    an earlier process is deleted first. What others put on the lease stays.

    Args:
        host: Its clock is written; its chance spreads the renewals and draws the holder.
        server: Keeps the lease.
        hostname: Of this machine.
        token: The bearer token that `server` takes, if it takes one.

    Threads: one.
    """

    def __init__(self, host: Host, server: Handler, hostname: str, *, token: str | None = None) -> None:
        self._host = host
        self._server = server
        self._headers = {"content-type": "application/merge-patch+json", "user-agent": COMPONENT}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"
        self._path = f"{_LEASES}/{identity_name(hostname)}"
        self._holder = f"{identity_name(hostname)}_{host.uuid()}"
        # A longer label would be refused for ever.
        self._hostname = hostname[:_LABEL_LIMIT].rstrip("-_.")
        self._address = ""

    def begin(self, address: str) -> float:
        """Replace the lease of an earlier process; the seconds until the first `beat`.

        Args:
            address: Where the server is reached, as `host:port`.
        """
        self._address = address
        self.end()
        return self.beat()

    def beat(self) -> float:
        """Renew the lease, or make it; the seconds until the next time."""
        body = self._body()
        answer = self._ask("PATCH", self._path, body)
        if answer.status == _HTTP_NOT_FOUND:
            body["metadata"]["name"] = self._path.rpartition("/")[2]
            body["spec"]["holderIdentity"] = self._holder
            answer = self._ask("POST", _LEASES, body)
        if answer.status not in (200, _HTTP_CREATED):
            log.warning("identity lease is not kept", status=answer.status, answer=answer.body.decode(errors="replace"))
        return RENEW_INTERVAL * (1.0 + JITTER * self._host.random.random())

    def end(self) -> None:
        """Delete the lease, if there is one."""
        self._ask("DELETE", self._path, None)

    def _body(self) -> dict[str, dict[str, object]]:
        labels = {"apiserver.kubernetes.io/identity": COMPONENT, "kubernetes.io/hostname": self._hostname}
        annotations = {"kubernetes.io/peer-advertise-address": self._address}
        spec = {"leaseDurationSeconds": DURATION, "renewTime": microtime(self._host.now())}
        return {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}

    def _ask(self, method: str, path: str, body: object) -> HTTPResponse:
        content = b"" if body is None else msgspec.json.encode(body)
        headers = self._headers if method != "POST" else {**self._headers, "content-type": "application/json"}
        answer = self._server.handle(HTTPRequest(method, path, (), headers, content))
        assert isinstance(answer, HTTPResponse), "no watch was asked for"
        return answer
