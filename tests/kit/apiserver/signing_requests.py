# SPDX-License-Identifier: Apache-2.0
"""Requests for certificates, as users send them."""

from __future__ import annotations

import base64
import functools

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@functools.cache
def signing_request(organization: str = "dev", *, forged: bool = False) -> str:
    """Return a request of `jane` in base64; a forged one has the signature of another."""
    return base64.b64encode(_pem(_der(organization, forged=forged))).decode()


def _der(organization: str, *, forged: bool) -> bytes:
    names = [(NameOID.COMMON_NAME, "jane"), (NameOID.ORGANIZATION_NAME, organization)]
    subject = x509.Name([x509.NameAttribute(name, value) for name, value in names])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    der = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(
        serialization.Encoding.DER
    )
    return der.replace(b"jane", b"june") if forged else der


def _pem(der: bytes) -> bytes:
    return b"-----BEGIN CERTIFICATE REQUEST-----\n%b-----END CERTIFICATE REQUEST-----\n" % base64.encodebytes(der)
