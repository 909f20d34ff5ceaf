# SPDX-License-Identifier: Apache-2.0
"""The way of a request to its user: authentication, impersonation, authorization."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from embedded_apiserver.authentication.accounts import Accounts
from embedded_apiserver.authentication.impersonation import impersonated, wanted_user
from embedded_apiserver.authentication.tokens import ISSUER, InvalidToken, Tokens
from embedded_apiserver.authorization.attributes import attributes_of
from embedded_apiserver.authorization.authorizer import Authorizer
from embedded_apiserver.routes import Route
from embedded_apiserver.status import StatusError, unauthorized
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.users import ADMIN, ANONYMOUS, User


class Actors(NamedTuple):
    """The user of a request and the impersonated user, for the audit log.

    Attributes:
        user: The user who made the request; None if the credentials are wrong.
        impersonated: The user whom `user` impersonates with permission; None if there is no such user.
    """

    user: User | None
    impersonated: User | None = None


class Access:
    """Authenticates each request, and checks whether its user may make it.

    Args:
        host: The source of time, randomness and locks.
        storage: The objects, including service accounts, roles and bindings.
        token: The bearer token of the administrator. If None, each client without a service account's token is the
            administrator.
        signing_key: The private key for service accounts' tokens, in PEM form; None for a new key.
        users: Further users by their bearer tokens, read at each request.

    Attributes:
        accounts: Issues the tokens of service accounts.
        authorizer: Decides the permissions of users by roles and bindings.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        storage: Storage,
        token: str | None,
        signing_key: str | None,
        users: Mapping[str, User] = MappingProxyType({}),
    ) -> None:
        self._users = users
        # In bytes, because texts with other characters than ASCII cannot be compared in constant time.
        self._token = None if token is None else token.encode()
        self._header = None if token is None else f"Bearer {token}".encode()
        self.accounts = Accounts(host, storage, Tokens(host, signing_key))
        self.authorizer = Authorizer(storage)

    def admit(self, request: HTTPRequest, route: Route | None) -> User:
        """Return the user for whom a request is carried out: its user, or the impersonated one.

        Args:
            request: The request.
            route: The route of its path; None for a path that names no served resource.

        Raises:
            StatusError: 400, impersonation headers lack the user's name; 401, the credentials are wrong; 403, the user
                may not make this request, or may not impersonate.
        """
        user = self._authenticated(request.headers)
        wanted = wanted_user(request.headers)
        if wanted is None and (user is ADMIN or user.may_do_everything):
            return user
        asked = attributes_of(user, request, route)
        if wanted is not None:
            user = impersonated(self.authorizer, asked, wanted)
            asked = asked._replace(user=user)
        self.authorizer.check(asked)
        return user

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Return whether the headers have the credentials of a user; True if the server requires none, unless they have
        an invalid token in the form of a service account's.
        """
        try:
            return self._authenticated(headers) is not ANONYMOUS
        except StatusError:
            return False

    def actors(self, request: HTTPRequest, route: Route | None) -> Actors:
        """Return the user of a request and the impersonated user, whether or not the request is allowed."""
        try:
            user = self._authenticated(request.headers)
        except StatusError:
            return Actors(None)
        try:
            wanted = wanted_user(request.headers)
            if wanted is None:
                return Actors(user)
            return Actors(user, impersonated(self.authorizer, attributes_of(user, request, route), wanted))
        except StatusError:
            return Actors(user)

    def user_of(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> tuple[User, list[str]]:
        """Return the user of a bearer token, and those of `audiences` for which the token is valid.

        Raises:
            InvalidToken: The token is not that of a user, or is valid for none of `audiences`.
        """
        # Compared in constant time, so that response times reveal nothing about the token.
        if self._token is not None and hmac.compare_digest(token.encode(errors="surrogatepass"), self._token):
            if ISSUER not in audiences:
                raise InvalidToken("invalid bearer token")
            return ADMIN, [ISSUER]
        if (known := self._users.get(token)) is not None and ISSUER in audiences:
            return known, [ISSUER]
        return self.accounts.user(token, audiences)

    def _authenticated(self, headers: Mapping[str, str]) -> User:
        """Return the user whose credentials the headers have.

        Raises:
            StatusError: 401, they are wrong.
        """
        given = headers.get("authorization")
        if given is None:
            return ADMIN if self._token is None else ANONYMOUS
        # As nearly all clients send it, without taking the header apart; compared in constant time, as below.
        if self._header is not None and hmac.compare_digest(given.encode(errors="surrogatepass"), self._header):
            return ADMIN
        token = _bearer_token(given)
        if self._token is None and "." not in token:  # not even an attempt at a token of a service account
            return ADMIN
        if not token:
            return ANONYMOUS
        try:
            return self.user_of(token)[0]
        except InvalidToken:
            raise unauthorized() from None


def _bearer_token(header: str) -> str:
    """Return the token in an `Authorization` header; empty if there is none, as in a header of another scheme.

    Like a real API server, it takes the text between the first two spaces, and none if there are two in a row.
    """
    scheme, *rest = header.strip().split(" ", 2)
    return rest[0] if rest and scheme.lower() == "bearer" else ""
