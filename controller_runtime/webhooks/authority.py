# SPDX-License-Identifier: Apache-2.0
"""Makes and reads certificates: an authority of one's own, and what it signs for the names of a service.

This is the only module that imports `cryptography`, which the extra `webhooks` installs.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import attrs

from controller_runtime.core.extras import needed_by
from controller_runtime.webhooks.certificate_plan import AUTHORITY_LIFE, LEAF_LIFE, Life, State

with needed_by("certificates of webhooks", extra="webhooks"):
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
        load_pem_private_key,
    )
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BACKDATED = timedelta(hours=1)
"""Certificates are valid from this long before they are made, because the clocks of machines differ."""


@attrs.frozen
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class Certificates:
    """All that the replicas of a program share: what the Secret has.

    Attributes:
        bundle: The certificates of all authorities to be trusted, PEM.
        signer: The authority that signs now.
        upcoming: The authority that will sign once it is trusted everywhere; None most of the time.
        leaf: The certificate that replicas present.
        former: Those of the bundle that were found in the configurations when the Secret was lost, PEM.
    """

    bundle: bytes
    signer: Pair
    upcoming: Pair | None
    leaf: Pair
    former: bytes = b""

    def dumped(self) -> dict[str, bytes]:
        """Return the `data` of the Secret."""
        data = {
            "ca.crt": self.bundle,
            "signer.crt": self.signer.certificate,
            "signer.key": self.signer.key,
            "tls.crt": self.leaf.certificate,
            "tls.key": self.leaf.key,
        }
        if self.upcoming is not None:
            data |= {"upcoming.crt": self.upcoming.certificate, "upcoming.key": self.upcoming.key}
        return data | ({"former.crt": self.former} if self.former else {})

    @classmethod
    def load(cls, data: Mapping[str, bytes]) -> Certificates:
        """Return what a Secret has.

        Raises:
            ValueError: A key is missing.
        """
        missing = [name for name in ("ca.crt", "signer.crt", "signer.key", "tls.crt", "tls.key") if not data.get(name)]
        if missing:
            raise ValueError(f"it lacks {', '.join(missing)}")
        upcoming = Pair(data["upcoming.crt"], data.get("upcoming.key", b"")) if data.get("upcoming.crt") else None
        return cls(
            bundle=data["ca.crt"],
            signer=Pair(data["signer.crt"], data["signer.key"]),
            upcoming=upcoming,
            leaf=Pair(data["tls.crt"], data["tls.key"]),
            former=data.get("former.crt", b""),
        )

    def state(self) -> State:
        """Return the facts from which the next step is decided.

        Raises:
            ValueError: They are not certificates and keys, or do not belong together.
        """
        signer, leaf = _read(self.signer), _read(self.leaf)
        try:
            leaf.verify_directly_issued_by(signer)
        except InvalidSignature as error:
            raise ValueError("tls.crt is not signed by signer.crt") from error
        bundle = x509.load_pem_x509_certificates(self.bundle)
        if signer not in bundle:
            raise ValueError("ca.crt does not have signer.crt")
        upcoming = None if self.upcoming is None else _life(_read(self.upcoming))
        if self.upcoming is not None and _read(self.upcoming) not in bundle:
            raise ValueError("ca.crt does not have upcoming.crt")
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return State(
            signer=_life(signer),
            upcoming=upcoming,
            leaf=_life(leaf),
            names=frozenset(str(name.value) for name in names),
            trusted=tuple(_life(each) for each in bundle),
            has_former=bool(self.former and x509.load_pem_x509_certificates(self.former)),
        )


def created(now: datetime, names: Sequence[str]) -> Certificates:
    """Return a new authority and a leaf of it."""
    signer = new_authority(now)
    return Certificates(bundle=signer.certificate, signer=signer, upcoming=None, leaf=new_leaf(signer, now, names))


def with_former(made: Certificates, bundles: Iterable[bytes], now: datetime) -> Certificates:
    """Return these certificates with the authorities of other bundles next to its own, without those that have expired.

    A bundle that cannot be read is left out: nothing is verified by it.
    """
    own = x509.load_pem_x509_certificates(made.bundle)
    former: list[x509.Certificate] = []
    for bundle in bundles:
        try:
            found = x509.load_pem_x509_certificates(bundle)
        except ValueError:
            continue
        former += [each for each in found if each not in [*own, *former] and each.not_valid_after_utc > now]
    return attrs.evolve(made, bundle=made.bundle + _pems(former), former=made.former + _pems(former))


def retired(found: Certificates) -> Certificates:
    """Return these certificates without the authorities of a lost Secret.

    Raises:
        ValueError: They cannot be read.
    """
    former = x509.load_pem_x509_certificates(found.former)
    kept = [each for each in x509.load_pem_x509_certificates(found.bundle) if each not in former]
    return attrs.evolve(found, bundle=_pems(kept), former=b"")


def signed(found: Certificates, now: datetime, names: Sequence[str]) -> Certificates:
    """Return the same authorities with a new leaf."""
    return attrs.evolve(found, leaf=new_leaf(found.signer, now, names))


def introduced(found: Certificates, now: datetime) -> Certificates:
    """Return these certificates with a second authority, which is trusted from now on and does not sign yet."""
    upcoming = new_authority(now)
    return attrs.evolve(found, upcoming=upcoming, bundle=upcoming.certificate + found.bundle)


def promoted(found: Certificates, now: datetime, names: Sequence[str]) -> Certificates:
    """Return certificates that the second authority signs; the first stays trusted until it expires."""
    assert found.upcoming is not None, "planned only with one"
    signer = found.upcoming
    return attrs.evolve(found, signer=signer, upcoming=None, leaf=new_leaf(signer, now, names))


def pruned(found: Certificates, now: datetime) -> Certificates:
    """Return these certificates without the authorities that have expired."""
    kept = [each for each in x509.load_pem_x509_certificates(found.bundle) if each.not_valid_after_utc > now]
    return attrs.evolve(found, bundle=_pems(kept))


def new_authority(now: datetime) -> Pair:
    """Return an authority that signs certificates of servers, valid for `AUTHORITY_LIFE`."""
    key = ec.generate_private_key(ec.SECP256R1())
    # A name of its own, so that clients that trust two authorities find the one that signed.
    name = _name(f"controller-runtime webhooks {now:%Y-%m-%d} {x509.random_serial_number():x}"[:64])
    certificate = (
        _builder(name, name, key.public_key(), now, now + AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, SHA256())
    )
    return Pair(certificate.public_bytes(Encoding.PEM), _pem(key))


def new_leaf(authority: Pair, now: datetime, names: Sequence[str]) -> Pair:
    """Return a certificate for a server of these names, valid for `LEAF_LIFE` or as long as its authority.

    Raises:
        ValueError: The authority's key is not one of its kind.
    """
    issuer, signer = x509.load_pem_x509_certificate(authority.certificate), _key(authority.key)
    key = ec.generate_private_key(ec.SECP256R1())
    until = min(now + LEAF_LIFE, issuer.not_valid_after_utc)
    certificate = (
        _builder(_name(names[0][:64]), issuer.subject, key.public_key(), now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([*_general(names)]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, SHA256())
    )
    return Pair(certificate.public_bytes(Encoding.PEM), _pem(key))


def _general(names: Iterable[str]) -> Iterable[x509.GeneralName]:
    for name in names:
        try:
            yield x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            yield x509.DNSName(name)


def _read(pair: Pair) -> x509.Certificate:
    """Return the certificate of a pair, after a look at the key.

    Raises:
        ValueError: One cannot be read, or they do not belong together.
    """
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    if _public(certificate.public_key()) != _public(_key(pair.key).public_key()):
        raise ValueError("a key is not that of its certificate")
    return certificate


def _key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = load_pem_private_key(pem, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("a key is not of the kind that this library makes")
    return key


def _public(key: Any) -> bytes:
    data: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return data


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _pems(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)


def _life(certificate: x509.Certificate) -> Life:
    return Life(certificate.not_valid_before_utc + BACKDATED, certificate.not_valid_after_utc)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - BACKDATED).not_valid_after(until)


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
