# SPDX-License-Identifier: Apache-2.0
"""TLS over memory decrypts all that has come, however it was cut, and notices the end."""

from __future__ import annotations

import contextlib
import ssl
from pathlib import Path

import pytest

from apimachinery.system import SystemHost
from controller_runtime.client.http.tls import TLS
from embedded_apiserver.shell.tls import Certificates, make_certificates

Server = tuple[ssl.SSLObject, ssl.MemoryBIO, ssl.MemoryBIO]


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return make_certificates(SystemHost().now())


@pytest.fixture
def pair(certificates: Certificates, tmp_path: Path) -> tuple[TLS, Server]:
    """A client and a server that have agreed; the server may ask for a certificate later."""
    (tmp_path / "pem").write_bytes(certificates.server + certificates.key)
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    offered.load_cert_chain(tmp_path / "pem")
    offered.load_verify_locations(cadata=certificates.authority.decode())
    offered.verify_mode, offered.post_handshake_auth = ssl.CERT_OPTIONAL, True
    trusted = ssl.create_default_context(cadata=certificates.authority.decode())
    trusted.post_handshake_auth = True
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = offered.wrap_bio(received, sent, server_side=True)
    client = TLS(trusted, "localhost")
    is_agreed = client.is_agreed()
    while not is_agreed:
        received.write(client.outgoing())
        with contextlib.suppress(ssl.SSLWantReadError):
            server.do_handshake()
        is_agreed = client.is_agreed(sent.read())
    received.write(client.outgoing())
    server.do_handshake()
    return client, (server, received, sent)


@pytest.mark.parametrize("step", [1, 7, 5000, 10**6])
def test_records_are_decrypted_wherever_the_network_cuts_them(pair: tuple[TLS, Server], step: int) -> None:
    client, (server, _, sent) = pair
    said = [b"a" * 40_000, b"b", b"c" * 16_384]
    for data in said:
        server.write(data)
    wire = sent.read()

    heard = b"".join(client.decrypted(memoryview(wire)[at : at + step]) for at in range(0, len(wire), step))

    assert heard == b"".join(said)
    assert not client.is_ended


def test_a_record_that_needs_an_answer_is_answered_beside_the_data_that_came_with_it(pair: tuple[TLS, Server]) -> None:
    client, (server, received, sent) = pair
    server.write(b"before")
    assert (client.decrypted(memoryview(sent.read())), client.has_outgoing) == (b"before", False)

    server.verify_client_post_handshake()  # asks for a certificate, in a record without data
    server.write(b"after")
    assert (client.decrypted(memoryview(sent.read())), client.has_outgoing) == (b"after", True)
    received.write(client.outgoing())
    with pytest.raises(ssl.SSLWantReadError):  # the answer is read, and no data comes with it
        server.read(1)
    assert received.pending == 0


def test_all_records_that_have_come_are_decrypted_at_once(pair: tuple[TLS, Server]) -> None:
    client, (server, _, sent) = pair
    for _ in range(30):
        server.write(b"line\n")

    assert client.decrypted(memoryview(sent.read())) == b"line\n" * 30


def test_the_end_is_noticed_after_what_came_before_it(pair: tuple[TLS, Server]) -> None:
    client, (server, _, sent) = pair
    server.write(b"last")
    with pytest.raises(ssl.SSLWantReadError):
        server.unwrap()

    assert client.decrypted(memoryview(sent.read())) == b"last"
    assert client.is_ended


def test_a_large_body_is_encrypted_in_pieces_and_arrives_whole(pair: tuple[TLS, Server]) -> None:
    client, (server, received, _) = pair
    body = bytes(range(256)) * 4000
    pieces = 0
    heard = b""
    for piece in client.encrypted(body):
        pieces += 1
        received.write(piece)
        while received.pending:
            heard += server.read(16384)

    assert heard == body
    assert pieces > 1


def test_a_record_that_was_changed_on_the_way_is_refused(pair: tuple[TLS, Server]) -> None:
    client, (server, _, sent) = pair
    server.write(b"true")
    wire = bytearray(sent.read())
    wire[-1] ^= 1

    with pytest.raises(ssl.SSLError):
        client.decrypted(memoryview(wire))
