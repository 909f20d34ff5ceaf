# SPDX-License-Identifier: Apache-2.0
"""The HTTP transport trusts the configured authorities, over real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.client.echo import EchoHandler
from kit.official import configured
from kubernetes.client import Configuration

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from controller_runtime.client.http.transport import HTTPTransport
from embedded_apiserver.shell.thread import LoopbackServer
from embedded_apiserver.shell.tls import Certificates, make_certificates

HOST = SystemHost()


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return make_certificates(HOST.now())


@pytest.fixture
def trusting(certificates: Certificates, tmp_path: Path) -> Iterator[Configuration]:
    """Makes a configuration that trusts the authority of a server that runs."""
    (tmp_path / "ca.crt").write_bytes(certificates.authority)
    with LoopbackServer(HOST, EchoHandler(HOST), certificates=certificates) as server:
        yield configured(server.url, ssl_ca_cert=str(tmp_path / "ca.crt"))


def status_of(configuration: Configuration) -> int:
    transport = HTTPTransport(HOST, configuration)
    try:
        return transport.request(HTTPRequest("GET", "/echo"), HOST.monotonic() + 60.0).status
    finally:
        transport.close()


def test_a_server_of_the_authority_is_trusted(trusting: Configuration) -> None:
    assert status_of(trusting) == 200


def test_a_server_of_another_authority_is_not(trusting: Configuration, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(make_certificates(HOST.now()).authority)

    with pytest.raises(ConnectionLost, match="certificate is not trusted: "):
        status_of(trusting)


def test_without_an_authority_the_systems_are_asked(trusting: Configuration) -> None:
    trusting.ssl_ca_cert = None

    with pytest.raises(ConnectionLost, match="certificate is not trusted: "):
        status_of(trusting)


def test_the_server_must_be_who_it_is_said_to_be(trusting: Configuration) -> None:
    trusting.tls_server_name = "elsewhere.test"
    with pytest.raises(ConnectionLost, match="certificate is not trusted: "):
        status_of(trusting)

    trusting.tls_server_name = "localhost"
    assert status_of(trusting) == 200


def test_verification_can_be_turned_off_by_who_says_so(trusting: Configuration) -> None:
    trusting.ssl_ca_cert = None
    trusting.verify_ssl = False

    assert status_of(trusting) == 200


def test_an_authority_that_was_replaced_is_noticed_at_the_next_connection(
    trusting: Configuration, certificates: Certificates, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_bytes(make_certificates(HOST.now()).authority)
    transport = HTTPTransport(HOST, trusting)
    with pytest.raises(ConnectionLost, match="certificate is not trusted: "):
        transport.request(HTTPRequest("GET", "/echo"), HOST.monotonic() + 60.0)

    (tmp_path / "ca.crt").write_bytes(b"half written")
    with pytest.raises(ConnectionLost, match=r"ca\.crt"):
        transport.request(HTTPRequest("GET", "/echo"), HOST.monotonic() + 60.0)

    (tmp_path / "ca.crt").write_bytes(certificates.authority)
    assert transport.request(HTTPRequest("GET", "/echo"), HOST.monotonic() + 60.0).status == 200
    transport.close()


def test_a_server_without_tls_is_not_spoken_to(trusting: Configuration) -> None:
    with LoopbackServer(HOST, EchoHandler(HOST)) as plain:
        trusting.host = f"https://127.0.0.1:{plain.port}"

        with pytest.raises(ConnectionLost):
            status_of(trusting)
