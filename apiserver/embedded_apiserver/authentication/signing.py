# SPDX-License-Identifier: Apache-2.0
"""The key with which the server signs tokens (ES256). Imported when the first token is made or seen, because it needs
the package cryptography, which a server without tokens does not."""

from __future__ import annotations

import base64
import hashlib

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

# Bytes of each of the two numbers of a signature.
_NUMBER = 32
_ALGORITHM = ec.ECDSA(SHA256())


class SigningKey:
    """A private key (ES256) for signing tokens.

    Args:
        pem: The key in PEM form.

    Attributes:
        id: The id of the key in tokens: the hash of its public part.

    Raises:
        ValueError: `pem` is not a private key for ES256.

    Threads: any.
    """

    def __init__(self, pem: str) -> None:
        try:
            key = load_pem_private_key(pem.encode(), None)
        except UnsupportedAlgorithm as error:
            raise ValueError(str(error)) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise ValueError("the key that signs tokens is not of the curve P-256")
        self._private, self._public = key, key.public_key()
        encoded = self._public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.id = base64.urlsafe_b64encode(hashlib.sha256(encoded).digest()).rstrip(b"=").decode()

    def sign(self, content: bytes) -> bytes:
        """Return the signature of `content`, in the format of JSON Web Tokens."""
        first, second = decode_dss_signature(self._private.sign(content, _ALGORITHM))
        return first.to_bytes(_NUMBER) + second.to_bytes(_NUMBER)

    def has_signed(self, content: bytes, signature: bytes) -> bool:
        """Return whether `signature` is a valid signature of `content` by this key."""
        if len(signature) != 2 * _NUMBER:
            return False
        numbers = (int.from_bytes(signature[:_NUMBER]), int.from_bytes(signature[_NUMBER:]))
        try:
            self._public.verify(encode_dss_signature(*numbers), content, _ALGORITHM)
        except InvalidSignature:
            return False
        return True


def new_signing_key() -> str:
    """Return a new private key for ES256 in PEM form."""
    made = ec.generate_private_key(ec.SECP256R1())
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
