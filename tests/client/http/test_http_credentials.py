# SPDX-License-Identifier: Apache-2.0
"""A refusal renews the credentials, rotated files are read again, and the connections are replaced with them."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import ssl
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from kit.client.raw_server import Connection, RawServer, Script
from kit.official import configured
from kubernetes.client import Configuration

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from controller_runtime.client.http.credentials import TokenFile
from controller_runtime.client.http.exec_plugin import ExecPlugin
from controller_runtime.client.http.transport import HTTPTransport

GET = HTTPRequest("GET", "/x")
PUT = HTTPRequest("PUT", "/x", (), {}, b"{}")
HOST = SystemHost("here")
V1 = "client.authentication.k8s.io/v1"


def soon() -> float:
    return HOST.monotonic() + 60.0


def accepting(token: str, said: list[str]) -> Script:
    """Answers 200 to one token and 401 to others, on a connection that is kept."""

    def script(connection: Connection) -> None:
        while head := connection.read_request():
            method = head.split()[0].decode()
            value = head.partition(b"authorization: ")[2].partition(b"\r")[0].decode()
            said.append(f"{method} {value}")
            status = b"200 OK" if value == f"Bearer {token}" else b"401 Unauthorized"
            connection.send(b"HTTP/1.1 " + status + b"\r\ncontent-length: 2\r\n\r\n{}")

    return script


def following(configuration: Configuration, hook: object) -> Configuration:
    configuration.refresh_api_key_hook = hook
    return configuration


@pytest.mark.parametrize("request_", [GET, PUT], ids=["read", "write"])
def test_a_refusal_has_a_rotated_token_read_at_once_and_the_request_sent_once_more(
    tmp_path: Path, request_: HTTPRequest
) -> None:
    token, said = tmp_path / "token", list[str]()
    token.write_text("old")
    with RawServer(HOST, accepting("new", said)) as server:
        transport = HTTPTransport(HOST, following(server.configuration, TokenFile(token)))
        refused = transport.request(request_, soon()).status
        token.write_text("new")

        status = transport.request(request_, soon()).status
        transport.close()

    # If the machine is so busy that a second passes in between, the old token is not even tried.
    assert (refused, status, said[0], said[-1]) == (
        401,
        200,
        f"{request_.method} Bearer old",
        f"{request_.method} Bearer new",
    )
    assert len(said) <= 3


def test_a_refusal_stands_where_there_is_no_other_token(tmp_path: Path) -> None:
    token, said = tmp_path / "token", list[str]()
    token.write_text("old")
    with RawServer(HOST, accepting("new", said)) as server:
        transport = HTTPTransport(HOST, following(server.configuration, TokenFile(token)))

        statuses = [transport.request(GET, soon()).status for _ in range(3)]
        transport.close()

    assert (statuses, len(said)) == ([401] * 3, 3)


def test_a_constant_token_is_sent_once(tmp_path: Path) -> None:
    said = list[str]()
    with RawServer(HOST, accepting("new", said)) as server:
        configuration = server.configuration
        configuration.api_key = {"BearerToken": "Bearer old"}
        transport = HTTPTransport(HOST, configuration)

        assert transport.request(PUT, soon()).status == 401
        transport.close()

    assert said == ["PUT Bearer old"]


def test_a_stream_renews_its_credentials_too(tmp_path: Path) -> None:
    answers = tmp_path / "tokens"
    answers.write_text("old new")
    program = tmp_path / "plugin"
    credential = json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": {"token": "TOKEN"}})
    take = f"read first rest < {answers}; echo $rest > {answers}"
    program.write_text(f"#!/bin/sh\n{take}\necho '{credential}' | sed s/TOKEN/$first/\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    said = list[str]()
    with RawServer(HOST, accepting("new", said), accepting("new", said)) as server:
        plugin = ExecPlugin([str(program)], environment={}, api_version=V1)
        transport = HTTPTransport(HOST, following(server.configuration, plugin))

        with transport.stream(GET, soon()) as stream:
            status = stream.response.status
        transport.close()

    assert (status, said) == (200, ["GET Bearer old", "GET Bearer new"])


@attrs.frozen
class Authority:
    """Makes certificates of clients and of one server."""

    key: ec.EllipticCurvePrivateKey = attrs.field(factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def issue(self, name: str, *, is_server: bool = False, is_authority: bool = False) -> tuple[str, str]:
        """Returns a certificate and its key, in PEM."""
        key = self.key if is_authority else ec.generate_private_key(ec.SECP256R1())
        usage = ExtendedKeyUsageOID.SERVER_AUTH if is_server else ExtendedKeyUsageOID.CLIENT_AUTH
        now = HOST.now()
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        )
        if not is_authority:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        pem = builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return pem.decode(), key.private_bytes(*form).decode()


@attrs.frozen
class Guarded:
    """A server that requires client certificates, and the names in those that it received."""

    configuration: Configuration
    authority: Authority
    folder: Path
    shown: list[str]

    def put_certificate(self, name: str) -> None:
        """Replaces the files of the client's certificate, as a rotation does."""
        for file, text in zip(("tls.crt", "tls.key"), self.authority.issue(name), strict=True):
            (self.folder / "new").write_text(text)
            (self.folder / "new").rename(self.folder / file)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    authority, shown = Authority(), list[str]()
    (tmp_path / "ca.crt").write_text(authority.issue("authority", is_authority=True)[0])
    (tmp_path / "server.pem").write_text("".join(authority.issue("server", is_server=True)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_verify_locations(tmp_path / "ca.crt")
    context.load_cert_chain(tmp_path / "server.pem")
    context.verify_mode = ssl.CERT_REQUIRED

    def script(connection: Connection) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(connection.sock, server_side=True) as secure:
            connection.sock = secure
            subject = dict(pair for part in secure.getpeercert()["subject"] for pair in part)
            while connection.read_request():
                shown.append(subject["commonName"])
                connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    with RawServer(HOST, *[script] * 4) as server:
        made = configured(f"https://127.0.0.1:{server.port}", ssl_ca_cert=str(tmp_path / "ca.crt"))
        yield Guarded(made, authority, tmp_path, shown)


def wait_until(condition: Callable[[], bool]) -> None:
    """Lets real time pass."""
    pause, deadline = HOST.condition("pause"), soon()
    while not condition() and HOST.monotonic() < deadline:
        with pause:
            pause.wait_until(HOST.monotonic() + 0.05)
    assert condition()


def test_a_certificate_that_rotates_on_disk_is_shown_on_new_connections_and_the_old_are_not_used(
    guarded: Guarded,
) -> None:
    guarded.put_certificate("first")
    guarded.configuration.cert_file = str(guarded.folder / "tls.crt")
    guarded.configuration.key_file = str(guarded.folder / "tls.key")
    transport = HTTPTransport(HOST, guarded.configuration)
    transport.request(GET, soon())
    transport.request(GET, soon())

    guarded.put_certificate("second")

    def is_noticed() -> bool:
        transport.request(GET, soon())
        return guarded.shown[-1] == "second"

    wait_until(is_noticed)
    transport.close()
    assert guarded.shown[:2] == ["first"] * 2


def test_closing_ends_the_wait_for_a_plugin(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text("#!/bin/sh\nsleep 60\n")
    plugin.chmod(0o755)
    forever = ExecPlugin([str(plugin)], environment={}, api_version=V1)
    transport = HTTPTransport(HOST, following(Configuration(host="http://127.0.0.1:1"), forever))
    lost: list[str] = []

    def ask() -> None:
        with pytest.raises(ConnectionLost) as caught:
            transport.request(GET, soon())
        lost.append(str(caught.value))

    asker = HOST.spawn("asker", ask)
    while not asker.join_until(HOST.monotonic() + 0.01):
        transport.close()

    assert "failed with exit status -9" in lost[0]


def test_a_plugins_certificate_is_shown_and_leaves_no_file(guarded: Guarded, tmp_path: Path) -> None:
    certificate, key = guarded.authority.issue("plugged in")
    status = {"clientCertificateData": certificate, "clientKeyData": key}
    (tmp_path / "answer").write_text(json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status}))
    plugin = ExecPlugin(["cat", str(tmp_path / "answer")], environment={}, api_version=V1)
    transport = HTTPTransport(HOST, following(guarded.configuration, plugin))

    status_code = transport.request(GET, soon()).status
    transport.close()

    assert (status_code, guarded.shown) == (200, ["plugged in"])
