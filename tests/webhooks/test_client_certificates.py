# SPDX-License-Identifier: Apache-2.0
"""A manager that asks API servers for a certificate answers those with a valid one, and no other client."""

from __future__ import annotations

import ssl
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from kit.webhooks.serving_webhooks import NOW, asked_once, served, trusting

from controller_runtime.webhooks.authority import Pair, created

CLIENTS, OTHERS = (created(NOW, ["api-server"]).signer for _ in range(2))
DAY = timedelta(days=1)


def client_of(authority: Pair, until: datetime = NOW + DAY, usage: x509.ObjectIdentifier | None = None) -> bytes:
    """Return the key and the certificate of a client, PEM."""
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    signer = load_pem_private_key(authority.key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - 2 * DAY)
        .not_valid_after(until)
        .add_extension(x509.ExtendedKeyUsage([usage or ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private + certificate.public_bytes(Encoding.PEM)


@pytest.mark.scenario("WH-13")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(
    ("client", "is_answered"),
    [
        pytest.param(client_of(CLIENTS), True, id="valid"),
        pytest.param(b"", False, id="none"),
        pytest.param(client_of(OTHERS), False, id="of another authority"),
        pytest.param(client_of(CLIENTS, NOW - DAY), False, id="expired"),
        pytest.param(client_of(CLIENTS, usage=ExtendedKeyUsageOID.SERVER_AUTH), False, id="a server's"),
    ],
)
def test_only_clients_with_a_valid_certificate_are_answered(
    tmp_path: Path, client: bytes, is_answered: bool, version: ssl.TLSVersion
) -> None:
    certificates = created(NOW, ["127.0.0.1"])
    authority = tmp_path / "clients.crt"
    authority.write_bytes(CLIENTS.certificate)
    context = trusting(certificates.bundle)
    context.maximum_version = version
    if client:
        (tmp_path / "client.pem").write_bytes(client)
        context.load_cert_chain(tmp_path / "client.pem")

    with served(tmp_path, certificates, client_authority=authority) as (port, _):
        try:
            answered = asked_once(port, context)[0] == 200
        except OSError:  # an SSLError or a reset, by when the refusal arrives
            answered = False

    assert answered is is_answered
