# SPDX-License-Identifier: Apache-2.0
"""The service account whose permissions an operator has; without one it has those of an administrator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apimachinery.errors import NotFound, UsageError
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.client.client import Client
from embedded_apiserver import Kinds, find_route

_ACCOUNTS = Resource[dict[str, Any]]("", "v1", "ServiceAccount", "serviceaccounts")


def account_of(text: str | None) -> ObjectKey | None:
    """Return the service account that the option `--as` names; None if `text` is None.

    Raises:
        UsageError: The text is not `NAMESPACE/NAME`.
    """
    if text is None:
        return None
    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise UsageError(f"--as {text}: it takes namespace and name of a ServiceAccount, such as default/operator")
    return ObjectKey(name, namespace)


def check_account(account: ObjectKey | None, client: Client) -> None:
    """Check that a service account exists; None passes.

    Raises:
        UsageError: The account does not exist.
    """
    try:
        if account is not None:
            client.get(_ACCOUNTS, account)
    except NotFound:
        raise UsageError(f"--as {account}: `before` of the story makes no such ServiceAccount") from None


def right_of(request: HTTPRequest, kinds: Kinds) -> str:
    """Return the permission that a request needs as text: method, resource and subresource, the same in each run."""
    route = find_route(kinds, request.path.rstrip("/"))
    if route is None:
        return f"{request.method} {request.path}"
    return f"{request.method} {'/'.join(filter(None, (route.kind.resource, route.subresource)))}"


def refused(rights: Iterable[str]) -> str:
    """Return a line of text about the permissions that an operator needed and does not have."""
    return f"its account has no right to {', '.join(rights)}"
