# SPDX-License-Identifier: Apache-2.0
"""Tokens of service accounts: JSON web tokens that the server signs (ES256) and later recognizes."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from apimachinery.decoding import decoder_of
from apimachinery.host import Host
from embedded_apiserver.authorization.policy import quoted_list
from embedded_apiserver.status import internal

if TYPE_CHECKING:
    from embedded_apiserver.authentication.signing import SigningKey

ISSUER = "https://kubernetes.default.svc"
"""The issuer of the tokens, and the audience of those that the server itself accepts."""
LEEWAY = 60.0
"""Seconds by which clocks may differ: a token is accepted until this long after its expiry, as by a real API server."""

# Verified tokens that are remembered: to verify a signature takes ten times as long as a small request.
_MOST_VERIFIED = 1024
_ALGORITHM = "ES256"


class InvalidToken(Exception):
    """A bearer token is not accepted; the message gives the reason, where possible in a real API server's words."""


class Reference(msgspec.Struct, frozen=True):
    """A service account, or an object to which a token is bound.

    Attributes:
        name: The name of the object.
        uid: The uid of the object; empty for the node of a pod if that node does not exist.
    """

    name: str
    uid: str = ""


class TokenBinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """Kubernetes' part of a token's claims.

    Attributes:
        namespace: The namespace of the account.
        serviceaccount: The service account.
        pod: The pod to which the token is bound: it becomes invalid with the pod's deletion. None if not bound to a
            pod.
        secret: The secret to which the token is bound; None if not bound to a secret.
        node: The node to which the token is bound, or the node of `pod`; None for neither.
    """

    namespace: str
    serviceaccount: Reference
    pod: Reference | None = None
    secret: Reference | None = None
    node: Reference | None = None


class Claims(msgspec.Struct, frozen=True):
    """The claims in a token.

    Attributes:
        aud: The audiences.
        exp: The time of expiry, in seconds since 1970.
        iat: The time of issue, in seconds since 1970.
        iss: The issuer.
        jti: The unique id of the token.
        binding: The service account, and the object to which the token is bound.
        nbf: The time from which the token is valid, in seconds since 1970.
        sub: The user name of the service account.
    """

    aud: tuple[str, ...]
    exp: int
    iat: int
    iss: str
    jti: str
    binding: TokenBinding = msgspec.field(name="kubernetes.io")
    nbf: int
    sub: str


_claims_in: Callable[[bytes], Claims] = decoder_of(Claims)


class Tokens:
    """Signs and verifies tokens of service accounts with one key.

    The key is read or created at the first use, so that a server without such tokens does not need the package
    cryptography.

    Args:
        host: The source of time and locks.
        key: The private key in PEM form; None for a new key.

    Threads: any.
    """

    def __init__(self, host: Host, key: str | None = None) -> None:
        self._host = host
        self._pem = key
        # Guards the two fields below.
        self._lock = host.lock("apiserver/tokens")
        self._key: SigningKey | None = None
        self._verified: dict[str, Claims] = {}

    def sign(self, claims: Claims) -> str:
        """Return a signed token with these claims.

        Raises:
            StatusError: 500, the package cryptography is not installed.
        """
        key = self._signing_key()
        head = {"alg": _ALGORITHM, "kid": key.id}
        signed = b".".join(_encoded(msgspec.json.encode(part)) for part in (head, claims))
        return b".".join((signed, _encoded(key.sign(signed)))).decode()

    def verify(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> Claims:
        """Return the claims of a token that this server has signed and that is currently valid for one of `audiences`.

        Whether the service account and other objects in the claims exist is not checked.

        Raises:
            InvalidToken: The token is not valid.
            StatusError: 500, the package cryptography is not installed.
        """
        with self._lock:
            claims = self._verified.get(token)
        if claims is None:
            claims = self._checked(token)
            with self._lock:
                if len(self._verified) >= _MOST_VERIFIED:
                    self._verified.clear()
                self._verified[token] = claims
        if not set(claims.aud) & set(audiences):
            mine, asked = (quoted_list(names) for names in (claims.aud, audiences))
            raise InvalidToken(f"token audiences {mine} is invalid for the target audiences {asked}")
        now = self._host.now().timestamp()
        if now - LEEWAY > claims.exp:
            raise InvalidToken("service account token has expired")
        if now + LEEWAY < claims.nbf:
            raise InvalidToken("service account token is not valid yet")
        if now + LEEWAY < claims.iat:
            raise InvalidToken("service account token is issued in the future")
        return claims

    def _checked(self, token: str) -> Claims:
        """Return the claims of a token after its signature has been verified: no part of it counts before."""
        try:
            head, body, signature = (_decoded(part) for part in token.split("."))
            header = _header_in(head)
        except (ValueError, RecursionError):  # the first also if it has not three parts
            raise InvalidToken("invalid bearer token") from None
        key = self._signing_key()
        # The token does not choose the algorithm: `none` would need no key, and a shared secret is not one here.
        if header.alg != _ALGORITHM or header.kid != key.id:
            raise InvalidToken("invalid bearer token")
        if not key.has_signed(token.rpartition(".")[0].encode(), signature):
            raise InvalidToken("invalid bearer token: the signature is not this server's")
        try:
            claims = _claims_in(body)
        except ValueError:
            raise InvalidToken("invalid bearer token") from None
        if claims.iss != ISSUER:
            raise InvalidToken("invalid bearer token")
        return claims

    def _signing_key(self) -> SigningKey:
        with self._lock:
            if self._key is None:
                try:
                    from embedded_apiserver.authentication.signing import SigningKey, new_signing_key
                except ImportError as error:
                    text = "tokens of service accounts need the package cryptography: install it beside the server"
                    raise internal(text) from error
                self._key = SigningKey(self._pem or new_signing_key())
            return self._key


class _Header(msgspec.Struct):
    alg: str
    kid: str = ""


_header_in: Callable[[bytes], _Header] = decoder_of(_Header)


def _encoded(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def _decoded(text: str) -> bytes:
    """Return the content of one part of a token.

    Raises:
        ValueError: It is not one. Only the one form of each content is accepted, so that no token has two spellings.
    """
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _encoded(content).decode() != text:
        raise ValueError("not base64url without padding")
    return content
