# SPDX-License-Identifier: Apache-2.0
"""Service accounts as users: their tokens are issued here, and accepted while what they are bound to exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apimachinery.host import Host
from embedded_apiserver.authentication.tokens import (
    ISSUER,
    LEEWAY,
    Claims,
    InvalidToken,
    Reference,
    TokenBinding,
    Tokens,
)
from embedded_apiserver.groups.core.kinds import NODE, SECRET, SERVICE_ACCOUNT
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import key_of
from embedded_apiserver.users import AUTHENTICATED, User, account_groups, account_name

_EXTRA = "authentication.kubernetes.io/"
_INVALIDATED = "service account token has been invalidated"


class Accounts:
    """Issues and verifies the tokens of service accounts.

    Args:
        host: The source of time and random ids.
        storage: The objects, including the service accounts.
        tokens: Signs and verifies the tokens.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, tokens: Tokens) -> None:
        self._host = host
        self._storage = storage
        self._tokens = tokens

    def issue(self, binding: TokenBinding, audiences: Sequence[str], seconds: int) -> str:
        """Return a new token for a service account. It expires after `seconds`.

        Args:
            binding: The service account, and the object to which the token is bound.
            audiences: The audiences of the token.
            seconds: The lifetime of the token.

        Raises:
            StatusError: 500, the package cryptography is not installed.
        """
        now = int(self._host.now().timestamp())
        subject = account_name(binding.namespace, binding.serviceaccount.name)
        claims = Claims(tuple(audiences), now + seconds, now, ISSUER, self._host.uuid(), binding, now, subject)
        return self._tokens.sign(claims)

    def user(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> tuple[User, list[str]]:
        """Return the user of a token, and those of `audiences` for which it is valid.

        Raises:
            InvalidToken: The token is invalid, or its service account or the object to which it is bound no longer
                exists.
        """
        claims = self._tokens.verify(token, audiences)
        binding = claims.binding
        namespace, account = binding.namespace, binding.serviceaccount
        self._check_account(namespace, account)
        bound = ((POD, binding.pod), (SECRET, binding.secret), (NODE, None if binding.pod else binding.node))
        for kind, reference in bound:
            if reference is not None:
                self._check_bound(kind, "" if kind == NODE else namespace, reference)
        extra = {f"{_EXTRA}credential-id": (f"JTI={claims.jti}",)}
        for title, reference in (("node", binding.node), ("pod", binding.pod)):
            if reference is not None:
                extra |= {f"{_EXTRA}{title}-name": (reference.name,), f"{_EXTRA}{title}-uid": (reference.uid,)}
        groups = (*account_groups(namespace), AUTHENTICATED)
        user = User(account_name(namespace, account.name), account.uid, groups, extra)
        return user, [one for one in audiences if one in claims.aud]

    def _check_account(self, namespace: str, account: Reference) -> None:
        metadata = self._metadata(SERVICE_ACCOUNT, namespace, account.name)
        if metadata is None:
            raise InvalidToken(f'serviceaccounts "{account.name}" not found')
        if metadata["uid"] != account.uid:
            raise InvalidToken(f"service account UID ({metadata['uid']}) does not match claim ({account.uid})")
        if self._is_deleted(metadata):
            raise InvalidToken(f"service account {namespace}/{account.name} has been deleted")

    def _check_bound(self, kind: Kind, namespace: str, reference: Reference) -> None:
        metadata = self._metadata(kind, namespace, reference.name)
        if metadata is None or self._is_deleted(metadata):
            raise InvalidToken(_INVALIDATED)
        if metadata["uid"] != reference.uid:
            claim = f"service account {kind.singular} ref claim ({reference.uid})"
            raise InvalidToken(f"{kind.kind} UID ({metadata['uid']}) does not match {claim}")

    def _metadata(self, kind: Kind, namespace: str, name: str) -> Mapping[str, Any] | None:
        found = self._storage.get(kind.resource, key_of(namespace, name))
        return None if found is None else found.decode()["metadata"]

    def _is_deleted(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether an object has been marked for deletion for longer than clocks may differ."""
        if not (deleted := metadata.get("deletionTimestamp")):
            return False
        return self._host.now().timestamp() - LEEWAY > datetime.fromisoformat(deleted).timestamp()
