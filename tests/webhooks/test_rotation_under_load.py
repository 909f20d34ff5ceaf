# SPDX-License-Identifier: Apache-2.0
"""Certificates rotate while clients write, over TLS on real sockets: the server refuses none of the writes.

The wall clock of the replicas moves and that of OpenSSL does not, so they begin in the past and end at the present.
"""

from __future__ import annotations

import base64
import itertools
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
from cryptography import x509
from kit.webhooks.certifying import is_signed

from apimachinery.host import Thread
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop, spawn
from controller_runtime import Client, Manager, ObjectKey, SystemHost
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.errors import APIError
from controller_runtime.resources import CONFIG_MAPS, NAMESPACES
from controller_runtime.webhooks import Checks, WebhookServing, authority, certificate_plan, certificates
from controller_runtime.webhooks.certificates import SECRETS
from controller_runtime.webhooks.injecting import VALIDATING
from controller_runtime.webhooks.installing import install
from embedded_apiserver.server import APIServer
from embedded_apiserver.shell import webhook_calls
from embedded_apiserver.shell.webhook_calls import TLSCaller
from embedded_apiserver.webhooks.caller import Target

KEY = ObjectKey("a", "default")
NAME, SECRET = "hooks", ObjectKey("hooks-certificates", "hooks-system")
AUTHORITY_LIFE, LEAF_LIFE = timedelta(days=90), timedelta(days=70)
PATIENCE = 30.0


class Shifted(SystemHost):
    """A machine whose wall clock can be moved."""

    def __init__(self, shift: timedelta) -> None:
        super().__init__()
        self.shift = shift

    def now(self) -> datetime:  # type: ignore[override]
        """Return the moved time."""
        return datetime.now(UTC) + self.shift


@attrs.define
class InTurn:
    """Calls the replicas of a service in turn, each over a new connection."""

    callers: Sequence[TLSCaller] = ()
    turns: Any = attrs.field(factory=itertools.count)

    def call(self, target: Target, request: HTTPRequest, timeout: float) -> HTTPResponse:
        return self.callers[next(self.turns) % len(self.callers)].call(target, request, timeout)


class Replicas:
    """Replicas of a program with a check of config maps, a server that calls them, and clients that write."""

    def __init__(self, host: Shifted) -> None:
        self.host = host
        self.stop = Stop(host, "replicas")
        self.ports: list[int] = []
        self.closing: list[Callable[[], None]] = []
        self.refused: list[str] = []
        self.writes = 0
        self.caller = InTurn()
        self.server = APIServer(host, caller=self.caller)
        self.user = Client(host, InProcessTransport(host, self.server))
        self.user.create(NAMESPACES, {"metadata": {"name": SECRET.namespace}})
        self.user.create(CONFIG_MAPS, {"metadata": {"name": KEY.name, "namespace": KEY.namespace}})

    def start(self, count: int) -> None:
        for _ in range(count):
            manager = Manager(self.host, InProcessTransport(self.host, self.server))
            manager.webhooks.add(Checks(CONFIG_MAPS, lambda *_: None, view=dict))
            manager.webhooks.serve(WebhookServing(address="127.0.0.1:0", name=NAME, namespace=SECRET.namespace))
            install(self.user, manager.webhooks.installed_objects())
            manager.webhooks.start(self.stop)
            self.closing.append(manager.webhooks.close)
            self.ports.append(manager.webhooks.port)
        service = f"{SECRET.namespace}/{NAME}"
        self.caller.callers = [TLSCaller(self.host, {service: f"127.0.0.1:{port}"}) for port in self.ports]

    def write(self) -> None:
        """Write again and again until the stop is set."""
        while not self.stop.is_set():
            try:
                self.user.patch(CONFIG_MAPS, KEY, {"data": {"n": str(self.writes)}})
            except APIError as error:
                self.refused.append(str(error))
            self.writes += 1

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = self.host.monotonic() + PATIENCE
        while not condition():
            assert self.host.monotonic() < deadline, f"nothing came of it: {condition.__name__}"
            self.stop.wait(0.02)

    def leaf(self) -> x509.Certificate:
        """Return the certificate that the Secret has."""
        return x509.load_pem_x509_certificate(self._data("tls.crt"))

    def bundle(self) -> list[x509.Certificate]:
        """Return the authorities that the Secret has."""
        return x509.load_pem_x509_certificates(self._data("ca.crt"))

    def _data(self, name: str) -> bytes:
        return base64.b64decode(self.user.get(SECRETS, SECRET)["data"][name])

    def all_present(self, leaf: x509.Certificate) -> bool:
        """Return whether every replica presents a certificate."""
        return all(presented(port) == leaf for port in self.ports)

    def all_trust(self, count: int) -> bool:
        """Return whether the configuration has so many authorities."""
        config = self.user.get(VALIDATING, ObjectKey(NAME))["webhooks"][0]["clientConfig"]
        return len(x509.load_pem_x509_certificates(base64.b64decode(config["caBundle"]))) == count


def presented(port: int) -> x509.Certificate:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain) as secured,
    ):
        der = secured.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)


@pytest.fixture
def replicas(monkeypatch: pytest.MonkeyPatch) -> Iterator[Replicas]:
    """Two replicas that look often, and two clients that write; all began 62 days ago by their clock."""
    for module in (authority, certificate_plan):
        monkeypatch.setattr(module, "AUTHORITY_LIFE", AUTHORITY_LIFE)
        monkeypatch.setattr(module, "LEAF_LIFE", LEAF_LIFE)
    for module in (certificate_plan, certificates):
        monkeypatch.setattr(module, "SPREAD", 0.3)
    monkeypatch.setattr(certificates, "LOOK", 0.1)
    monkeypatch.setattr(webhook_calls, "_KEPT", 0)  # each call is a handshake of its own
    made = Replicas(Shifted(timedelta(days=-62)))
    writers: list[Thread] = []
    try:
        made.start(2)
        made.wait_for(lambda: made.all_trust(1))
        writers += [spawn(made.host, made.stop, f"writes-{number}", made.write) for number in range(2)]
        yield made
    finally:
        made.stop.set()
        for writer in writers:
            writer.join_until(None)
        for close in made.closing:
            close()


@pytest.mark.scenario("WH-09")
def test_no_write_is_refused_while_certificates_and_their_authority_rotate(replicas: Replicas) -> None:
    first, (old,) = replicas.leaf(), replicas.bundle()
    replicas.wait_for(lambda: replicas.writes > 10)

    replicas.host.shift = timedelta(days=-15)  # two thirds of the certificate's life are over
    replicas.wait_for(lambda: replicas.leaf() != first)
    second = replicas.leaf()
    replicas.wait_for(lambda: replicas.all_present(second))
    replicas.host.shift = timedelta()  # and of the authority's
    replicas.wait_for(lambda: replicas.leaf() not in (first, second))
    third = replicas.leaf()
    replicas.wait_for(lambda: replicas.all_present(third))
    enough = replicas.writes + 10
    replicas.wait_for(lambda: replicas.writes > enough)

    assert replicas.refused == []
    assert (is_signed(second, old), is_signed(third, old)) == (True, False)
    assert replicas.all_trust(2)
    assert not replicas.stop.is_set()


def test_no_write_is_refused_while_the_secret_is_deleted_and_a_replica_starts(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = replicas.leaf()
    monkeypatch.setattr(certificates, "LOOK", 2.0)
    replicas.stop.wait(0.3)  # the replicas have seen that; if one has not, it puts its Secret back, and none changes
    replicas.user.delete(SECRETS, SECRET)
    replicas.start(1)
    replicas.wait_for(lambda: replicas.all_present(replicas.leaf()))
    enough = replicas.writes + 30
    replicas.wait_for(lambda: replicas.writes > enough)

    assert replicas.refused == []
    assert len(replicas.bundle()) == (1 if replicas.leaf() == first else 2)
    assert not replicas.stop.is_set()
