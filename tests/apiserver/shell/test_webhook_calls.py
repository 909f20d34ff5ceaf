# SPDX-License-Identifier: Apache-2.0
"""Webhooks over TLS: certificates are checked, calls end in time, and a webhook may ask the server in turn."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.converting import DEFINITIONS, Converter, definition
from kit.apiserver.webhooks import ROOT, configuration, hook

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.system import SystemHost
from embedded_apiserver.server import APIServer
from embedded_apiserver.shell.thread import LoopbackServer
from embedded_apiserver.shell.tls import Certificates, make_certificates
from embedded_apiserver.shell.webhook_calls import TLSCaller
from embedded_apiserver.webhooks.caller import Service, Target, Unreached

HOST = SystemHost("tests")
REQUEST = HTTPRequest("POST", "/hook", (("timeout", "5s"),), {"content-type": "application/json"}, b"{}")
MAPS = "/api/v1/namespaces/default/configmaps"


class Webhook:
    """Answers reviews, and notes what it was asked."""

    def __init__(self) -> None:
        self.requests: list[HTTPRequest] = []
        self.before: Callable[[], object] = lambda: None
        self.answer: Callable[[Any], HTTPResponse] | None = None

    def handle(self, request: HTTPRequest, on_ready: object = None) -> HTTPResponse:
        self.requests.append(request)
        self.before()
        review = json.loads(request.body)
        if self.answer is not None:
            return self.answer(review)
        response = {"uid": review.get("request", {}).get("uid", ""), "allowed": True}
        body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response})
        return HTTPResponse(200, {"content-type": "application/json"}, body.encode())


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return make_certificates(HOST.now())


@pytest.fixture
def webhook() -> Webhook:
    return Webhook()


@pytest.fixture
def serving(webhook: Webhook, certificates: Certificates) -> Iterator[LoopbackServer]:
    with LoopbackServer(HOST, webhook, certificates=certificates) as server:
        yield server


def bundle(certificates: Certificates) -> str:
    return certificates.authority.decode()


def why(caller: TLSCaller, target: Target, timeout: float = 60.0) -> str:
    with pytest.raises(Unreached) as failed:
        caller.call(target, REQUEST, timeout)
    return str(failed.value)


def test_calls_share_a_connection_and_say_how_long_they_wait(
    serving: LoopbackServer, webhook: Webhook, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    connect = socket.create_connection
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: made.append(a) or connect(*a, **k))
    with contextlib.closing(TLSCaller(HOST)) as caller:
        for _ in range(3):
            assert caller.call(Target(f"{serving.url}/hook", None, bundle(certificates)), REQUEST, 5.0).status == 200
    assert len(made) == 1
    assert webhook.requests[0].query == (("timeout", "5s"),)


def test_a_webhook_is_trusted_by_its_authority_and_name_alone(
    serving: LoopbackServer, certificates: Certificates
) -> None:
    service = Service("default", "webhooks")
    with contextlib.closing(TLSCaller(HOST, {"default/webhooks": f"127.0.0.1:{serving.port}"})) as caller:
        unsigned = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        other = bundle(make_certificates(HOST.now()))
        assert caller.call(Target(f"{serving.url}/hook", is_trusted=True), REQUEST, 5.0).status == 200
        assert why(caller, Target(f"{serving.url}/hook", None, other)) == unsigned
        assert why(caller, Target(f"{serving.url}/hook")) == unsigned
        by_name = why(caller, Target("https://webhooks.default.svc:443/hook", service, bundle(certificates)))
        assert by_name.endswith("certificate is not valid for webhooks.default.svc")
        unknown = Target("https://others.default.svc:443/", Service("default", "others"), bundle(certificates))
        assert why(caller, unknown) == 'service "others" not found'


def test_a_webhook_that_is_not_there_or_says_nothing_is_given_up() -> None:
    with contextlib.closing(TLSCaller(HOST)) as caller, socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert why(caller, Target(f"https://127.0.0.1:{port}/"), 0.05) == "context deadline exceeded"
        silent.close()
        assert why(caller, Target(f"https://127.0.0.1:{port}/")) == (
            f"dial tcp 127.0.0.1:{port}: connect: connection refused"
        )
        assert why(caller, Target("https://nowhere.invalid/")) == "dial tcp: lookup nowhere.invalid: no such host"


class Ticking(SystemHost):
    """A host whose clock advances by a second at each look, so that no test waits."""

    ticks = 0.0

    def monotonic(self) -> float:
        self.ticks += 1.0
        return self.ticks


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", id="provisional answers"),
        pytest.param(HEAD + b"x: ", b"a", id="a head"),
        pytest.param(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"0", id="the line of a chunk"),
        pytest.param(HEAD + b"content-length: 9000\r\n\r\n", b"a", id="a body"),
    ],
)
def test_the_timeout_is_that_of_the_whole_exchange(certificates: Certificates, first: bytes, piece: bytes) -> None:
    def drip(peer: socket.socket) -> None:
        with contextlib.suppress(OSError), certificates.server_context().wrap_socket(peer, server_side=True) as secure:
            secure.recv(1 << 16)
            for part in (first, *[piece] * 2_000):  # each is a record of TLS of its own, and so a read
                secure.send(part)

    with contextlib.closing(TLSCaller(Ticking("tests"))) as caller, socket.create_server(("127.0.0.1", 0)) as listener:
        thread = HOST.spawn("drip", lambda: drip(listener.accept()[0]))
        target = Target(f"https://127.0.0.1:{listener.getsockname()[1]}/", None, bundle(certificates))
        assert why(caller, target, 100.0) == "context deadline exceeded"
    thread.join()


def test_a_connection_that_was_closed_while_it_was_idle_is_replaced(
    webhook: Webhook, certificates: Certificates
) -> None:
    with contextlib.closing(TLSCaller(HOST)) as caller:
        with LoopbackServer(HOST, webhook, certificates=certificates) as first:
            target, port = Target(f"{first.url}/hook", None, bundle(certificates)), first.port
            assert caller.call(target, REQUEST, 60.0).status == 200
        with LoopbackServer(HOST, webhook, certificates=certificates, port=port):
            assert caller.call(target, REQUEST, 60.0).status == 200


@pytest.mark.parametrize("text", ["default/webhooks", "default/webhooks=127.0.0.1", "webhooks=127.0.0.1:1"])
def test_an_address_that_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="NAMESPACE/NAME=HOST:PORT"):
        TLSCaller(HOST, dict([text.partition("=")[::2]]))


def test_a_webhook_may_write_to_the_server_that_calls_it(
    serving: LoopbackServer, webhook: Webhook, certificates: Certificates
) -> None:
    caller = TLSCaller(HOST)
    server = APIServer(HOST, caller=caller)
    ask = Asking(server)
    authority = base64.b64encode(certificates.authority).decode()
    config = {"url": f"{serving.url}/hook", "caBundle": authority}
    ask.ok(
        "POST", f"{ROOT}/validatingwebhookconfigurations", configuration("Validating", hook("x", clientConfig=config))
    )
    with contextlib.closing(server), LoopbackServer(HOST, server, certificates=certificates) as api:
        own = Target(f"{api.url}/api/v1/namespaces/default/secrets", None, bundle(certificates))
        body = json.dumps({"metadata": {"generateName": "s"}}).encode()
        with contextlib.closing(TLSCaller(HOST)) as client, contextlib.closing(caller):

            def write(path: str, content: Any) -> int:
                headers = {"content-type": "application/json"}
                return client.call(own, HTTPRequest("POST", path, (), headers, content), 20.0).status

            webhook.before = lambda: write("/api/v1/namespaces/default/secrets", body)
            made = json.dumps({"metadata": {"name": "a"}}).encode()
            assert write(MAPS, made) == 201
    assert len(webhook.requests) == 1


def test_a_watch_of_converted_objects_waits_on_a_thread_of_its_own(
    serving: LoopbackServer, webhook: Webhook, certificates: Certificates
) -> None:
    """The webhook asks the server while it converts: an event loop that waited for it would never answer."""
    caller = TLSCaller(HOST)
    server = APIServer(HOST, caller=caller)
    ask = Asking(server)
    authority = base64.b64encode(certificates.authority).decode()
    ask.ok("POST", DEFINITIONS, definition(url=f"{serving.url}/convert", caBundle=authority))
    foo = {"apiVersion": "x.conv.io/v1", "kind": "Foo", "metadata": {"name": "one"}, "spec": {"a": "x"}}
    ask.ok("POST", "/apis/x.conv.io/v1/namespaces/default/foos", foo)
    convert, trust = Converter(), bundle(certificates)
    webhook.answer = convert
    with (
        contextlib.closing(server),
        LoopbackServer(HOST, server, certificates=certificates) as api,
        contextlib.closing(TLSCaller(HOST)) as client,
        contextlib.closing(caller),
    ):
        health = HTTPRequest("GET", "/healthz", (), {}, b"")
        webhook.before = lambda: client.call(Target(f"{api.url}/healthz", None, trust), health, 5.0)
        path, query = "/apis/x.conv.io/v2/foos", (("watch", "1"), ("timeoutSeconds", "1"))
        with contextlib.closing(TLSCaller(HOST)) as watcher:
            answer = watcher.call(Target(api.url + path, None, trust), HTTPRequest("GET", path, query, {}, b""), 10.0)
    assert json.loads(answer.body.splitlines()[0])["object"]["spec"] == {"b": "x"}
    assert convert.sizes == [1]
