# SPDX-License-Identifier: Apache-2.0
"""A manager whose webhooks are served over TLS on real sockets, and clients that ask it."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from controller_runtime import Manager, SystemHost
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.webhooks import Admission, Checks, FieldError, WebhookServing
from controller_runtime.webhooks.authority import Certificates, Pair
from embedded_apiserver.server import APIServer
from kit.crd.cabins import Cabin
from kit.webhooks.reviewing import admission_review

HOST = SystemHost()
NOW = datetime.now(UTC)
CHECKS = "/checks.cabins.v1.example.com"
HUT = {"apiVersion": "example.com/v1", "kind": "Cabin", "metadata": {"name": "hut"}, "spec": {"beds": 3}}
REVIEW = json.dumps(admission_review(HUT)).encode()
JSON = {"content-type": "application/json"}


def odd(cabin: Cabin, request: Admission[Cabin]) -> FieldError | None:
    """Refuse an odd number of beds."""
    return FieldError("spec.beds", "odd") if cabin.spec.beds % 2 else None


def manager() -> Manager:
    """Return a manager with one check, at `CHECKS`."""
    made = Manager(HOST, InProcessTransport(HOST, APIServer(HOST)))
    made.webhooks.add(Checks(Cabin, odd))
    return made


def trusting(*authorities: bytes) -> ssl.SSLContext:
    """Return the context of a client that trusts these authorities."""
    return ssl.create_default_context(cadata=b"".join(authorities).decode())


def connected(port: int, context: ssl.SSLContext) -> http.client.HTTPSConnection:
    """Return a connection to a port of this machine."""
    return http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)


def asked(connection: http.client.HTTPSConnection, body: bytes = REVIEW, path: str = CHECKS) -> tuple[int, bytes]:
    """Send a review, and return the status and the body of the answer."""
    connection.request("POST", f"{path}?timeout=10s", body, JSON)
    answer = connection.getresponse()
    return answer.status, answer.read()


def asked_once(port: int, context: ssl.SSLContext) -> tuple[int, bytes]:
    """Send a review over a new connection."""
    with closing(connected(port, context)) as connection:
        return asked(connection)


@contextmanager
def served(folder: Path, certificates: Certificates, **options: Any) -> Iterator[tuple[int, Manager]]:
    """Serve the webhooks of a manager with the certificate of a folder."""
    write(folder, certificates.leaf)
    made = manager()
    made.webhooks.serve(WebhookServing(address="127.0.0.1:0", folder=folder, **options))
    made.webhooks.start(made.stopping)
    try:
        yield made.webhooks.port, made
    finally:
        made.webhooks.close()


def write(folder: Path, leaf: Pair) -> None:
    """Write a certificate into a folder, as cert-manager does."""
    (folder / "tls.crt").write_bytes(leaf.certificate)
    (folder / "tls.key").write_bytes(leaf.key)
