# SPDX-License-Identifier: Apache-2.0
"""Issues and reads certificates with the package cryptography, which takes 8 MiB, so it is imported when needed."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# Certificates are valid from a little before they are made, because the clocks of containers and hosts differ.
_BACKDATED = timedelta(hours=1)
_VALID = timedelta(days=365)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def valid_until(certificate: bytes) -> datetime:
    """Return the time at which a certificate (in PEM form) expires.

    Raises:
        ValueError: `certificate` is not a certificate.
    """
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def names_of(certificate: bytes) -> frozenset[str]:
    """Return the DNS names and IP addresses for which a certificate (in PEM form) is valid.

    Raises:
        ValueError: `certificate` is not a certificate.
    """
    loaded = x509.load_pem_x509_certificate(certificate)
    try:
        names = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    return frozenset((*addresses, *names.get_values_for_type(x509.DNSName)))


def check_issuer(certificate: bytes, authority: bytes) -> None:
    """Check that a certificate was issued by an authority; both are in PEM form.

    Raises:
        ValueError: One is not a certificate, or the authority has not issued the other.
    """
    issued = x509.load_pem_x509_certificate(certificate)
    try:
        issued.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
    except InvalidSignature as error:
        raise ValueError("the server's certificate is not of this authority") from error
    except UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from error


def issue(now: datetime, names: Collection[str] = ()) -> tuple[bytes, bytes, bytes]:
    """Return a new authority's certificate, a server certificate issued by it, and the server's private key, in PEM
    form.

    Both certificates are valid for a year from `now`. That of the server is for 127.0.0.1, ::1, localhost and `names`.
    """
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
        .add_extension(x509.SubjectAlternativeName(_general_names(names)), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, SHA256())
    )
    return (
        authority.public_bytes(Encoding.PEM),
        server.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_names(names: Collection[str]) -> list[x509.GeneralName]:
    return [_general_name(name) for name in dict.fromkeys((*_LOOPBACK, *names))]


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


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
