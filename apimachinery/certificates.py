# SPDX-License-Identifier: Apache-2.0
"""Makes the certificates of an authority of one's own and of its servers, as PEM, with the package `cryptography`.

The server has one for its loopback, and programs with webhooks have one for theirs. Import this module when it is
needed: `cryptography` takes 8 MiB, and a program without either does not have it (extra `certificates`).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta

import attrs
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BACKDATED = timedelta(hours=1)
"""Certificates are valid from this long before they are made, because the clocks of machines and containers differ."""


@attrs.frozen
class Pair:
    """A certificate and its private key, both in PEM form."""

    certificate: bytes
    key: bytes = attrs.field(repr=False)


def new_authority(name: str, now: datetime, life: timedelta) -> Pair:
    """Return a new certificate authority that is valid until `now + life`; its name is truncated to 64 characters."""
    key, subject = ec.generate_private_key(ec.SECP256R1()), _name(name)
    builder = _builder(subject, subject, key, now, now + life, is_authority=True)
    return _signed(builder, key, key)


def new_leaf(authority: Pair, name: str, names: Iterable[str], now: datetime, life: timedelta) -> Pair:
    """Return a new server certificate, issued by an authority and valid until `now + life`, at most as long as the
    authority.

    Args:
        authority: The authority that issues the certificate.
        name: The common name, which is truncated to 64 characters.
        names: The DNS names and IP addresses of the server; duplicates are removed.
        now: The current time.
        life: The period of validity.

    Raises:
        ValueError: The authority's key is not of the type that `new_authority` creates.
    """
    issuer, signer = x509.load_pem_x509_certificate(authority.certificate), loaded_key(authority.key)
    key = ec.generate_private_key(ec.SECP256R1())
    until = min(now + life, issuer.not_valid_after_utc)
    builder = (
        _builder(_name(name), issuer.subject, key, now, until, is_authority=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(each) for each in dict.fromkeys(names)]), False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    return _signed(builder, key, signer)


def loaded_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Return the private key in a PEM text.

    Raises:
        ValueError: The text is not a private key, is encrypted, or is not of the type that this module creates.
    """
    try:
        key = load_pem_private_key(pem, None)
    except (TypeError, UnsupportedAlgorithm) as error:  # of an encrypted key, and of one that OpenSSL does not know
        raise ValueError(f"a key cannot be read: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("a key is not of the kind that this library makes")
    return key


def names_of(certificate: x509.Certificate) -> frozenset[str]:
    """Return the DNS names and IP addresses for which a certificate is valid."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    return frozenset((*addresses, *names.get_values_for_type(x509.DNSName)))


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    until: datetime,
    *,
    is_authority: bool,
) -> x509.CertificateBuilder:
    usage = x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    path_length = 0 if is_authority else None
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=path_length), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _signed(
    builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> Pair:
    certificate = builder.sign(signer, SHA256()).public_bytes(Encoding.PEM)
    return Pair(certificate, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
