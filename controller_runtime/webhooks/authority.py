# SPDX-License-Identifier: Apache-2.0
"""The certificates that the replicas of a program share, and the steps from each state of them to the next.

This is the only module of the library that imports `cryptography`, which the extra `webhooks` installs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs

from controller_runtime.core.extras import needed_by
from controller_runtime.webhooks.certificate_plan import AUTHORITY_LIFE, LEAF_LIFE, CertificateState, Life

with needed_by("certificates of webhooks", extra="webhooks"):
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    from apimachinery import certificates
    from apimachinery.certificates import Pair


@attrs.frozen(kw_only=True)
class Certificates:
    """The certificates and keys that the replicas of a program share, as its Secret has them.

    Attributes:
        bundle: The certificates of all trusted authorities, in PEM.
        signer: The authority that currently signs.
        upcoming: The next authority, which will sign once it is trusted everywhere; None if there is none.
        leaf: The server certificate that replicas present.
        former: The part of the bundle that was found in the targets (configurations and definitions) when the Secret
            was lost, in PEM.
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
        """Return the certificates in the `data` of a Secret.

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

    def state(self) -> CertificateState:
        """Return the state from which `plan` decides the next step.

        Raises:
            ValueError: The data are not certificates and keys, or do not belong together.
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
        return CertificateState(
            signer=_life(signer),
            upcoming=upcoming,
            leaf=_life(leaf),
            names=certificates.names_of(leaf),
            trusted=tuple(_life(each) for each in bundle),
            has_former=bool(self.former and x509.load_pem_x509_certificates(self.former)),
        )


def created(now: datetime, names: Sequence[str]) -> Certificates:
    """Return a new authority, and a server certificate for `names` that it signed."""
    signer = new_authority(now)
    return Certificates(bundle=signer.certificate, signer=signer, upcoming=None, leaf=new_leaf(signer, now, names))


def with_former(made: Certificates, bundles: Iterable[bytes], now: datetime) -> Certificates:
    """Return these certificates with the authorities of other bundles added, except for expired ones.

    A bundle that cannot be read is skipped, since it verifies nothing.
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
        ValueError: The certificates cannot be read.
    """
    former = x509.load_pem_x509_certificates(found.former)
    kept = [each for each in x509.load_pem_x509_certificates(found.bundle) if each not in former]
    return attrs.evolve(found, bundle=_pems(kept), former=b"")


def signed(found: Certificates, now: datetime, names: Sequence[str]) -> Certificates:
    """Return the same authorities with a new server certificate for `names`."""
    return attrs.evolve(found, leaf=new_leaf(found.signer, now, names))


def introduced(found: Certificates, now: datetime) -> Certificates:
    """Return these certificates with a second authority, which is trusted but does not sign yet."""
    upcoming = new_authority(now)
    return attrs.evolve(found, upcoming=upcoming, bundle=upcoming.certificate + found.bundle)


def promoted(found: Certificates, now: datetime, names: Sequence[str]) -> Certificates:
    """Return these certificates with a new server certificate, signed by the second authority.

    The first authority stays trusted until it expires.
    """
    assert found.upcoming is not None, "planned only with one"
    signer = found.upcoming
    return attrs.evolve(found, signer=signer, upcoming=None, leaf=new_leaf(signer, now, names))


def pruned(found: Certificates, now: datetime) -> Certificates:
    """Return these certificates without expired authorities."""
    kept = [each for each in x509.load_pem_x509_certificates(found.bundle) if each.not_valid_after_utc > now]
    return attrs.evolve(found, bundle=_pems(kept))


def new_authority(now: datetime) -> Pair:
    """Return a new certificate authority for server certificates, valid for `AUTHORITY_LIFE`."""
    # A name of its own, so that clients that trust two authorities find the one that signed.
    name = f"controller-runtime webhooks {now:%Y-%m-%d} {x509.random_serial_number():x}"
    return certificates.new_authority(name, now, AUTHORITY_LIFE)


def new_leaf(authority: Pair, now: datetime, names: Sequence[str]) -> Pair:
    """Return a new server certificate for these names, valid for `LEAF_LIFE`, but not longer than its authority.

    Raises:
        ValueError: The authority's key has a wrong type.
    """
    return certificates.new_leaf(authority, names[0], names, now, LEAF_LIFE)


def _read(pair: Pair) -> x509.Certificate:
    """Return the certificate of a pair, after a look at the key.

    Raises:
        ValueError: One cannot be read, or they do not belong together.
    """
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    if _public(certificate.public_key()) != _public(certificates.loaded_key(pair.key).public_key()):
        raise ValueError("a key is not that of its certificate")
    return certificate


def _public(key: Any) -> bytes:
    data: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return data


def _pems(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)


def _life(certificate: x509.Certificate) -> Life:
    begins = certificate.not_valid_before_utc
    return Life(begins + certificates.BACKDATED, certificate.not_valid_after_utc, begins)
