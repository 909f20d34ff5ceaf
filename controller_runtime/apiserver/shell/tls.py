# SPDX-License-Identifier: Apache-2.0
"""Certificates for a server on loopback: the server's own, and that of the authority that signed it."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from datetime import datetime, timedelta

import attrs
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# Certificates are valid from a little before they are made, because the clocks of containers and hosts differ.
_BACKDATED = timedelta(hours=1)
_VALID = timedelta(days=365)


@attrs.frozen
class Certificates:
    """The certificates of a server on loopback, and the authority that its clients trust.

    The authority's key is thrown away after the server's certificate is signed, so that no other can be made.

    Attributes:
        authority: The authority's certificate, PEM.
        server: The server's certificate, PEM.
        key: The server's private key, PEM.
    """

    authority: bytes
    server: bytes
    key: bytes = attrs.field(repr=False)

    def valid_until(self) -> datetime:
        """Return the time at which the server's certificate expires.

        Raises:
            ValueError: They are not certificates.
        """
        return x509.load_pem_x509_certificate(self.server).not_valid_after_utc

    def check(self) -> None:
        """Check that a server can present them and that clients that trust the authority accept them.

        Raises:
            ValueError: They are not certificates, or do not belong together.
        """
        server = x509.load_pem_x509_certificate(self.server)
        try:
            server.verify_directly_issued_by(x509.load_pem_x509_certificate(self.authority))
        except InvalidSignature as error:
            raise ValueError("the server's certificate is not of this authority") from error
        try:
            self.server_context()
        except ssl.SSLError as error:
            raise ValueError("the key is not that of the server's certificate") from error

    def server_context(self) -> ssl.SSLContext:
        """Return a TLS context that presents the server's certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.NamedTemporaryFile(prefix="controller-runtime-") as file:  # 0600; `ssl` loads only from files
            file.write(self.key + self.server)
            file.flush()
            context.load_cert_chain(file.name)
        return context


def make_certificates(now: datetime) -> Certificates:
    """Make an authority and a certificate from it for 127.0.0.1, ::1 and localhost, valid for a year from `now`."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = _name("controller-runtime loopback authority")
    authority = (
        _builder(authority_name, authority_name, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    server = (
        _builder(_name("controller-runtime API server"), authority_name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_loopback_names()), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, SHA256())
    )
    return Certificates(
        authority=authority.public_bytes(Encoding.PEM),
        server=server.public_bytes(Encoding.PEM),
        key=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _loopback_names() -> list[x509.GeneralName]:
    addresses = [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "::1")]
    return [*addresses, x509.DNSName("localhost")]


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - _BACKDATED).not_valid_after(now + _VALID)


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
