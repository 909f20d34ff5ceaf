# SPDX-License-Identifier: Apache-2.0
"""Issues and reads certificates with the package cryptography, which takes 8 MiB, so it is imported when needed."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from apimachinery import certificates

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
    return certificates.names_of(x509.load_pem_x509_certificate(certificate))


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
    authority = certificates.new_authority("controller-runtime loopback authority", now, _VALID)
    server = certificates.new_leaf(authority, "controller-runtime API server", (*_LOOPBACK, *names), now, _VALID)
    return authority.certificate, server.certificate, server.key
