# SPDX-License-Identifier: Apache-2.0
"""Requests for certificates as they are sent: PEM around PKCS#10, with a signature that proves the key."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from embedded_apiserver.quoting import quoted

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

_BEGIN, _END = b"-----BEGIN CERTIFICATE REQUEST-----", b"-----END CERTIFICATE REQUEST-----"
# The type of a block of PEM at its beginning, its headers and content, and the type at its end.
_BLOCK = re.compile(
    rb"^-----BEGIN ([^\n]*?)-----[ \t\r]*\n(.*?)^-----END ([^\n]*?)-----[ \t\r]*$", re.DOTALL | re.MULTILINE
)
_NO_REQUEST = "PEM block type must be CERTIFICATE REQUEST"
_NO_STRUCTURE = "asn1: structure error: tags don't match"
_NO_CERTIFICATE = "must contain at least one CERTIFICATE PEM block"
_HEADERS = "no PEM block headers are permitted"
_EMPTY = "found CERTIFICATE PEM block containing 0 certificates"
_MALFORMED = "x509: malformed certificate"
# The words of a real server about a signature that another key has made, by the kind of the key.
_UNSIGNED = {
    "RSAPublicKey": "crypto/rsa: verification error",
    "ECPublicKey": "x509: ECDSA verification failure",
    "Ed25519PublicKey": "x509: Ed25519 verification failure",
}
_UNKNOWN_ALGORITHM = "x509: cannot verify signature: algorithm unimplemented"
_SEQUENCE = b"\x30"


class UnreadableRequest(ValueError):
    """A text is not a certificate request; the message gives the reason."""


def request_problem(encoded: str) -> str:
    """Return the error of a certificate request, in base64; empty if it is valid and signed by its own key."""
    try:
        request = _parsed(encoded)
    except UnreadableRequest as error:
        return str(error)
    if request.is_signature_valid:
        return ""
    kind = type(request.public_key()).__name__
    return next((text for name, text in _UNSIGNED.items() if name in kind), _UNKNOWN_ALGORITHM)


def organizations(encoded: str) -> list[str]:
    """Return the organizations in the subject of a certificate request, in base64. They are groups of users.

    Raises:
        UnreadableRequest: The text is not a certificate request.
    """
    from cryptography.x509.oid import NameOID

    subject = _parsed(encoded).subject
    return [str(one.value) for one in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def _parsed(encoded: str) -> CertificateSigningRequest:
    from cryptography import x509

    if not (der := _first(base64.b64decode(encoded), _BEGIN, _END)):
        raise UnreadableRequest(_NO_REQUEST)
    try:
        return x509.load_der_x509_csr(der)
    except ValueError as error:
        raise UnreadableRequest(_NO_STRUCTURE if der[:1] != _SEQUENCE else f"x509: {error}") from error


def _first(pem: bytes, begin: bytes, end: bytes) -> bytes:
    """Return the content of the first block; empty if absent."""
    start, stop = pem.find(begin), pem.find(end)
    if start < 0 or stop < start:
        return b""
    return _decoded(b"".join(pem[start + len(begin) : stop].split())) or b""


def _decoded(text: bytes) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def certificate_problem(encoded: str) -> str:
    """Return the error of PEM certificates, in base64; empty if there is at least one, and none is malformed.

    A block whose content is not base64, or whose end has another type, does not count, as in Go.
    """
    from cryptography import x509

    found = 0
    for begun, content, ended in _BLOCK.findall(base64.b64decode(encoded)):
        has_headers = b":" in content.partition(b"\n")[0]
        der = _decoded(b"" if has_headers else b"".join(content.split()))
        if der is None or begun != ended:
            continue
        if begun != b"CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {quoted(begun.decode(errors='replace'))}"
        if has_headers:
            return _HEADERS
        if not der:
            return _EMPTY
        try:
            x509.load_der_x509_certificate(der)
        except ValueError:
            return _MALFORMED
        found += 1
    return "" if found else _NO_CERTIFICATE
