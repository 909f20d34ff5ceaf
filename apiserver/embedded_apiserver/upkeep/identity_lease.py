# SPDX-License-Identifier: Apache-2.0
"""The identity lease of an API server: created at the start, renewed every 10 s, deleted at the end.

Clients see from it that the server runs. It is written by requests to the server itself. The process that hosts the
server calls `begin`, `beat` and `end` at the right times.
"""

from __future__ import annotations

import base64
import hashlib
import struct

import msgspec

from apimachinery.host import Host
from apimachinery.http import Handler, HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.objects import microtime

log = get_logger(__name__)

COMPONENT = "kube-apiserver"
DURATION = 3600
"""Seconds for which a renewal is valid, as in a real API server."""
RENEW_INTERVAL = 10.0
"""Seconds between two renewals, as in a real API server."""
JITTER = 0.04
"""The largest share by which an interval is longer, at random, so that servers do not renew in step."""

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_LABEL_LIMIT = 63
_HTTP_CREATED, _HTTP_NOT_FOUND = 201, 404


def identity_name(hostname: str) -> str:
    """Return the name of the identity lease: as in a real API server, it contains a hash of the host name.

    So it is a valid name for any host name.
    """
    words = (hostname.encode(), COMPONENT.encode())
    digest = hashlib.sha256(b"".join(struct.pack(">H", len(word)) + word for word in words)).digest()
    return "apiserver-" + base64.b32encode(digest[:16]).decode().rstrip("=").lower()


class IdentityLease:
    """Creates, renews and deletes the identity lease of one server process (`apiserver-…` in `kube-system`).

    Each process has a different holder identity, and a renewal does not change the holder. So the lease of an earlier
    process is deleted first. Renewals keep labels and annotations that other clients have added.

    Args:
        host: The source of time, and of randomness for the intervals and the holder identity.
        server: The server, which gets the requests.
        hostname: The name of this machine.
        token: The bearer token that `server` requires; None if it requires none.

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
        # The value of a label has at most 63 characters and ends with a letter or digit; a longer one would be refused.
        self._hostname = hostname[:_LABEL_LIMIT].rstrip("-_.")
        self._address = ""

    def begin(self, address: str) -> float:
        """Replace the lease of an earlier process by a new one; return the seconds until the first `beat` is due.

        Args:
            address: The address of the server, as `host:port`.
        """
        self._address = address
        self.end()
        return self.beat()

    def beat(self) -> float:
        """Renew the lease, or create it if it does not exist; return the seconds until the next `beat` is due."""
        body = self._body()
        answer = self._ask("PATCH", self._path, body)
        if answer.status == _HTTP_NOT_FOUND:
            body["metadata"]["name"] = self._path.rpartition("/")[2]
            body["spec"]["holderIdentity"] = self._holder
            answer = self._ask("POST", _LEASES, body)
        if answer.status not in (200, _HTTP_CREATED):
            log.warning(
                "cannot renew the identity lease", status=answer.status, answer=answer.body.decode(errors="replace")
            )
        return RENEW_INTERVAL * (1.0 + JITTER * self._host.random.random())

    def end(self) -> None:
        """Delete the lease if it exists."""
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
