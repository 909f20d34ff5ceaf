# SPDX-License-Identifier: Apache-2.0
"""Users as the server knows them once they are authenticated, and the names that have a fixed meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from apimachinery.names import label_errors, subdomain_errors

MASTERS = "system:masters"
"""The group whose members may do everything."""
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"

_ACCOUNT_PREFIX = "system:serviceaccount:"
_ACCOUNTS = "system:serviceaccounts"
_ACCOUNT_PARTS = 4


class User(NamedTuple):
    """An authenticated user.

    Attributes:
        name: The user name.
        uid: The unique identifier of the user; empty if absent.
        groups: The groups of the user.
        extra: Further attributes by key, such as the pod to which a token is bound.
    """

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}

    @property
    def may_do_everything(self) -> bool:
        """True for a member of the group `system:masters`, whose requests need no permission by a role."""
        return MASTERS in self.groups

    def info(self) -> dict[str, object]:
        """Return the user as JSON for reviews and the audit log, without empty fields."""
        extra = {key: list(values) for key, values in self.extra.items()}
        shown = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {key: value for key, value in shown.items() if value}


ADMIN = User("admin", groups=(MASTERS, AUTHENTICATED))
"""The bearer of the server's own token, and every client of a server without a token."""
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
"""A client without credentials at a server with a token."""


def account_name(namespace: str, name: str) -> str:
    """Return the user name of a service account."""
    return f"{_ACCOUNT_PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    """Return the groups of every service account in a namespace, except `system:authenticated`."""
    return (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}")


def account_of(user_name: str) -> tuple[str, str] | None:
    """Return the namespace and name of the service account with this user name; None for other users."""
    parts = user_name.split(":")
    if len(parts) != _ACCOUNT_PARTS or not user_name.startswith(_ACCOUNT_PREFIX):
        return None
    _, _, namespace, name = parts
    return None if any(label_errors(namespace)) or any(subdomain_errors(name)) else (namespace, name)
