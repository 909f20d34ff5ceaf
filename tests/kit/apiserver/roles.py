# SPDX-License-Identifier: Apache-2.0
"""Roles, bindings and users for tests of authorization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kit.apiserver.asking import Asking, Object

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def rule(resources: str, verbs: str, group: str = "", names: str = "") -> dict[str, Any]:
    """Return a rule; resources, verbs and names are separated by spaces."""
    made = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**made, "resourceNames": names.split()} if names else made


def grant(ask: Asking, user: str, *rules: Mapping[str, Any], namespace: str = "", name: str = "") -> None:
    """Give a user a role of its own, in a namespace or everywhere."""
    kind, place = (
        ("Role", f"{RBAC}/namespaces/{namespace}/role") if namespace else ("ClusterRole", f"{RBAC}/clusterrole")
    )
    name = name or f"of-{user.rpartition(':')[2]}"
    ask.ok("POST", f"{place}s", {"metadata": {"name": name}, "rules": list(rules)})
    bind(ask, user, kind, name, namespace)


def bind(ask: Asking, user: str, kind: str, role: str, namespace: str = "") -> None:
    """Bind a user to a role, in a namespace or everywhere."""
    place = f"{RBAC}/namespaces/{namespace}/rolebindings" if namespace else f"{RBAC}/clusterrolebindings"
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
    binding = {"metadata": {"name": f"{user.rpartition(':')[2]}-{role}"}, "roleRef": reference}
    ask.ok("POST", place, {**binding, "subjects": [{"kind": "User", "name": user}]})


def token_for(ask: Asking, account: str, spec: Object | None = None) -> str:
    """Create a service account if it is missing, and return a token for it."""
    ask("POST", ACCOUNTS, {"metadata": {"name": account}})
    token: str = ask.ok("POST", f"{ACCOUNTS}/{account}/token", {"spec": dict(spec or {})})["status"]["token"]
    return token


def bearing(token: str) -> dict[str, str]:
    """Return the header that shows a token."""
    return {"authorization": f"Bearer {token}"}


def as_user(name: str, **more: str) -> dict[str, str]:
    """Return the headers that impersonate a user; `more` are further parts such as `group`."""
    return {"impersonate-user": name, **{f"impersonate-{part}": value for part, value in more.items()}}
