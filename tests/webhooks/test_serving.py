# SPDX-License-Identifier: Apache-2.0
"""Webhooks over TLS on real sockets: kept connections, bounds, renewed certificates, files, client certificates."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from kit.crd.cabins import Cabin, CabinV1Alpha1
from kit.crd.conversions import cabins
from kit.webhooks.serving_webhooks import (
    CHECKS,
    HOST,
    NOW,
    asked,
    asked_once,
    connected,
    manager,
    odd,
    served,
    trusting,
    write,
)

from apimachinery.host import Thread
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop
from controller_runtime import Client, Manager, ObjectKey
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.core.listening import bind
from controller_runtime.crd import DEFINITIONS
from controller_runtime.errors import UsageError
from controller_runtime.manager.health import health_of
from controller_runtime.serving import front, rare_line, threads
from controller_runtime.serving.front import MOST_SILENT
from controller_runtime.serving.server import Server
from controller_runtime.serving.threads import AnswerThreads
from controller_runtime.webhooks import Checks, Converts, WebhookServing
from controller_runtime.webhooks.authority import created, new_leaf
from controller_runtime.webhooks.certificates import SECRETS
from controller_runtime.webhooks.tls import CertificateFiles, PresentedCertificate, server_context
from embedded_apiserver.server import APIServer


def test_reviews_are_answered_over_one_kept_connection(tmp_path: Path) -> None:
    certificates = created(NOW, ["127.0.0.1"])
    with served(tmp_path, certificates) as (port, _):
        connection = connected(port, trusting(certificates.bundle))
        answers = [asked(connection) for _ in range(3)]
        local = connection.sock.getsockname()
        status, body = asked(connection, b"{}")
        version = connection.sock.version()

        assert connection.sock.getsockname() == local
        connection.close()

    assert {each[0] for each in answers} == {200}
    assert json.loads(answers[0][1])["response"]["status"]["details"]["causes"][0]["field"] == "spec.beds"
    assert (status, b"expected admission.k8s.io/v1 AdmissionReview" in body) == (400, True)
    assert version in ("TLSv1.2", "TLSv1.3")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"POST /checks HTTP/1.1\r\nContent-Length: 3000000000\r\n\r\n", 404, id="a body for nothing"),
        pytest.param(b"POST %s HTTP/1.1\r\nContent-Length: 3000000000\r\n\r\n" % CHECKS.encode(), 413, id="3 GB"),
        pytest.param(b"POST %s HTTP/1.1\r\nContent-Length: -1\r\n\r\n" % CHECKS.encode(), 400, id="less than nothing"),
        pytest.param(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411, id="without a length"),
        pytest.param(b"nonsense\r\n\r\n", 400, id="no HTTP"),
        pytest.param(b"GET / HTTP/1.1\r\nA: " + b"x" * 70_000 + b"\r\n\r\n", 431, id="a long head"),
    ],
)
def test_what_is_no_request_gets_a_status_and_the_end_of_its_connection(
    tmp_path: Path, sent: bytes, status: int
) -> None:
    certificates = created(NOW, ["127.0.0.1"])
    with (
        served(tmp_path, certificates) as (port, _),
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        trusting(certificates.bundle).wrap_socket(plain, server_hostname="127.0.0.1") as secured,
    ):
        secured.sendall(sent)
        answer = b""
        while data := secured.recv(4096):
            answer += data

    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"connection: close" in answer


def test_peers_that_hold_connections_do_not_keep_others_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST_CONNECTIONS", 3)
    certificates = created(NOW, ["127.0.0.1"])
    with served(tmp_path, certificates) as (port, _), ExitStack() as stack:
        context = trusting(certificates.bundle)
        held = [connected(port, context) for _ in range(5)]
        for each in held:
            stack.callback(each.close)
            assert asked(each)[0] == 200


def test_older_versions_of_tls_and_unknown_authorities_are_refused(tmp_path: Path) -> None:
    certificates = created(NOW, ["127.0.0.1"])
    with served(tmp_path, certificates) as (port, _):
        old = trusting(certificates.bundle)
        old.set_ciphers("DEFAULT@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLS"):
            old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        with pytest.raises(OSError):  # noqa: PT011  an SSLError or a reset, by the version of OpenSSL
            asked_once(port, old)
        with pytest.raises(ssl.SSLCertVerificationError):
            asked_once(port, trusting(created(NOW, ["127.0.0.1"]).bundle))


def test_files_are_read_again_when_they_change_and_a_pair_that_does_not_fit_is_left_out(tmp_path: Path) -> None:
    first, presented = created(NOW, ["one.example"]), PresentedCertificate()
    files = CertificateFiles(tmp_path, presented)
    files.look()
    assert "has no usable tls.crt and tls.key" in files.problem
    write(tmp_path, first.leaf)
    files.look()
    context = presented.context()
    files.look()
    assert presented.context() is context  # unchanged files are not loaded again
    second = new_leaf(first.signer, NOW, ["two.example"])
    (tmp_path / "tls.crt").write_bytes(second.certificate)
    files.look()
    assert files.problem
    assert presented.context() is context
    write(tmp_path, second)
    files.look()

    assert files.problem == ""
    assert presented.context() is not context


def test_an_encrypted_key_is_an_error_and_no_question_at_the_terminal() -> None:
    leaf = created(NOW, ["one.example"]).leaf
    encryption = serialization.BestAvailableEncryption(b"a password")
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key = serialization.load_pem_private_key(leaf.key, None).private_bytes(*form, encryption)

    with pytest.raises(ssl.SSLError):  # without a terminal the question fails with an OSError
        server_context(leaf.certificate, key)


def on_a_server(server: APIServer) -> Manager:
    made = Manager(HOST, InProcessTransport(HOST, server))
    made.webhooks.add(Checks(Cabin, odd))
    made.webhooks.serve(
        WebhookServing(address="127.0.0.1:0", name="hooks", namespace="default", url="https://127.0.0.1:1")
    )
    return made


def test_webhooks_that_no_configuration_names_are_a_note_of_readyz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller_runtime.webhooks.certificates.ABSENT_TOLD", 0.0)
    made = on_a_server(APIServer(HOST))
    made.webhooks.start(made.stopping)
    try:
        answer = health_of(made).answer(HTTPRequest("GET", "/readyz", [("verbose", "")]), trusted=True)
    finally:
        made.webhooks.close()

    note = (
        "[!]registrations ok, but: ValidatingWebhookConfiguration hooks is missing, so no API server calls its webhooks"
    )
    assert note in answer.body.decode()


def test_a_definition_that_the_manager_installs_is_trusted_before_the_caches_start() -> None:
    server, stop = APIServer(HOST), Stop(HOST)
    client = Client(HOST, InProcessTransport(HOST, server))
    made = Manager(HOST, InProcessTransport(HOST, server))
    made.webhooks.add(Converts(cabins))
    made.webhooks.serve(WebhookServing(address="127.0.0.1:0", namespace="default", url="https://127.0.0.1:1"))
    made.install(Cabin, CabinV1Alpha1)
    trusted: list[bool] = []

    class Looks:
        name = "looks"

        def run(self, stop: Stop) -> None:
            config = client.get(DEFINITIONS, ObjectKey("cabins.example.com"))["spec"]["conversion"]["webhook"]
            trusted.append("caBundle" in config["clientConfig"])
            made.stopping.set()

    made.add(Looks())
    made.run(stop)
    assert trusted == [True]


def test_a_manager_makes_its_certificate_before_its_caches_start() -> None:
    host = HOST
    server = APIServer(host)
    made = on_a_server(server)
    assert made.declared_webhooks.problem() == "the webhooks are not served yet"
    made.webhooks.start(made.stopping)
    try:
        secret = Client(host, InProcessTransport(host, server)).get(SECRETS, ObjectKey("hooks-certificates", "default"))
        bundle = base64.b64decode(secret["data"]["ca.crt"])
        assert asked_once(made.webhooks.port, trusting(bundle))[0] == 200
    finally:
        made.webhooks.close()
    assert made.webhooks.port == 0


def test_an_address_in_use_and_a_folder_without_files_are_errors_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller_runtime.webhooks.webhooks.FIRST_CERTIFICATE", 0.0)
    monkeypatch.setattr("controller_runtime.webhooks.tls.LOOK", 0.01)
    empty = manager()
    empty.webhooks.serve(WebhookServing(address="127.0.0.1:0", folder=tmp_path))
    with pytest.raises(UsageError, match=r"webhooks cannot be served: .* has no usable tls.crt"):
        empty.webhooks.start(Stop(HOST))
    empty.webhooks.close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        other = manager()
        other.webhooks.serve(WebhookServing(address=f"127.0.0.1:{taken.getsockname()[1]}", folder=tmp_path))
        with pytest.raises(UsageError, match="it is in use"):
            other.webhooks.start(Stop(HOST))


def ended(connection: socket.socket) -> bool:
    """Wait until the other side ends a connection; the test's timeout bounds the wait."""
    with connection, suppress(ConnectionResetError):
        return connection.recv(1) == b""
    return True


def test_silent_connections_take_no_thread_and_no_place_of_one_that_has_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front, "PATIENCE", 3600.0)  # none ends by time
    certificates = created(NOW, ["127.0.0.1"])
    with served(tmp_path, certificates) as (port, _), ExitStack() as stack:
        kept = connected(port, trusting(certificates.bundle))
        stack.callback(kept.close)
        assert asked(kept)[0] == 200
        local, count = kept.sock.getsockname(), len(threading.enumerate())
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
        for each in silent:
            stack.callback(each.close)

        assert all(ended(each) for each in silent[: 300 - MOST_SILENT]), "the oldest make way"
        assert len(threading.enumerate()) == count
        assert asked(kept)[0] == 200
        assert kept.sock.getsockname() == local, "the kept connection is still the same"
        assert asked_once(port, trusting(certificates.bundle))[0] == 200


def test_a_thread_that_cannot_start_refuses_one_connection_with_one_line_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none_left(*_: object) -> Thread:
        raise RuntimeError("can't start new thread")

    certificates = created(NOW, ["127.0.0.1"])
    with served(tmp_path, certificates) as (port, made):
        with monkeypatch.context() as short:
            short.setattr(threads, "spawn", none_left)
            short.setattr(rare_line, "PERIOD", 3600.0)
            for _ in range(5):
                with pytest.raises(OSError):  # noqa: PT011  a reset or an end, by who is first
                    asked_once(port, trusting(certificates.bundle))

        assert asked_once(port, trusting(certificates.bundle))[0] == 200
        assert made.stopping.failure is None
    assert [record.message.partition(" error")[0] for record in caplog.records if "refused" in record.message] == [
        "connection refused: no thread for it"
    ]


@pytest.mark.parametrize("body", [b" " * 400_000, b'{"a":[' + b"{}," * 60_000 + b"{}]}"], ids=["bytes", "values"])
def test_a_body_that_costs_more_than_all_may_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr("controller_runtime.webhooks.webhooks.memory_limit", lambda: 4 * 1024 * 1024)
    certificates = created(NOW, ["127.0.0.1"])
    with (
        served(tmp_path, certificates) as (port, _),
        closing(connected(port, trusting(certificates.bundle))) as connection,
    ):
        assert asked(connection, body)[0] == 413
        assert asked_once(port, trusting(certificates.bundle))[0] == 200


def test_a_connection_before_there_is_a_certificate_is_refused_and_the_server_goes_on() -> None:
    stop, presented = Stop(HOST), PresentedCertificate()
    with (
        bind("127.0.0.1:0") as listener,
        AnswerThreads(HOST, stop, lambda _: HTTPResponse(404), lambda _: 0, 1) as answers,
        Server(HOST, stop, listener, answers.arrived, presented.context),
    ):
        for _ in range(2):
            assert ended(socket.create_connection(listener.getsockname()))

    assert stop.failure is None
