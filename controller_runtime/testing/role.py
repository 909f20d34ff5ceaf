# SPDX-License-Identifier: Apache-2.0
"""The role under which a manager runs in a test: makes objects and a user from rules, objects or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from apimachinery.errors import AlreadyExists, UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NAMESPACES, Resource
from controller_runtime.client.client import Client

Role = Mapping[str, Any] | Path | str | Sequence[Mapping[str, Any] | Path | str]
"""The permissions of a program: a rule, a Role, ClusterRole or binding as a dict, the path of a YAML file of these, or
a sequence of them.
"""

NAMESPACE, ACCOUNT = "default", "manager"
"""The namespace and the name of the service account for roles without a binding."""

_GROUP = "rbac.authorization.k8s.io"
_ROLES = ("Role", "ClusterRole")
_RESOURCES = {
    "Role": Resource[dict[str, Any]](_GROUP, "v1", "Role", "roles"),
    "ClusterRole": Resource[dict[str, Any]](_GROUP, "v1", "ClusterRole", "clusterroles", namespaced=False),
    "RoleBinding": Resource[dict[str, Any]](_GROUP, "v1", "RoleBinding", "rolebindings"),
    "ClusterRoleBinding": Resource[dict[str, Any]](
        _GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
    ),
    "ServiceAccount": Resource[dict[str, Any]]("", "v1", "ServiceAccount", "serviceaccounts"),
}


class Acting(NamedTuple):
    """The objects that give a program its permissions, and the service account that it acts as.

    Attributes:
        objects: The account, the roles and the bindings.
        namespace: The account's namespace.
        account: The account's name.
    """

    objects: list[dict[str, Any]]
    namespace: str
    account: str

    @property
    def user(self) -> str:
        """The user name of the account."""
        return f"system:serviceaccount:{self.namespace}:{self.account}"

    def create(self, client: Client) -> str:
        """Create the objects, and their namespaces if those are missing; return the user name of the account.

        Raises:
            APIError: The server refuses an object, for example because it is not valid.
            UsageError: An object exists with other rules, from a cluster with another role on the same server.
        """
        for name in dict.fromkeys(one["metadata"].get("namespace", "") for one in self.objects):
            if name:
                _create(client, NAMESPACES, {"metadata": {"name": name}})
        for obj in self.objects:
            _create(client, _RESOURCES[obj["kind"]], obj)
        return self.user


def acting(role: Role) -> Acting:
    """Return the objects with which a program runs under a role. The account is the one that the role's bindings name.

    A role without a binding is bound to that account too, or to `ACCOUNT` in `NAMESPACE` if there are no bindings at
    all: a Role in its namespace, a ClusterRole and rules without a role in the whole cluster.

    Raises:
        UsageError: A file cannot be read, or holds objects of another kind, or the bindings name several accounts.
    """
    parts = [role] if isinstance(role, Mapping | Path | str) else list(role)
    found = [dict(obj) for part in parts for obj in _objects_of(part)]
    rules = [obj for obj in found if "kind" not in obj]
    objects = [obj for obj in found if "kind" in obj]
    if rules:
        objects.append({"kind": "ClusterRole", "metadata": {"name": ACCOUNT}, "rules": rules})
    bindings = [obj for obj in objects if obj["kind"].endswith("Binding")]
    accounts = {(one["namespace"], one["name"]) for binding in bindings for one in _accounts(binding)}
    if len(accounts) > 1:
        names = ", ".join(sorted(f"{namespace}/{name}" for namespace, name in accounts))
        raise UsageError(f"the role is bound to several service accounts ({names}): a manager acts as one")
    ((namespace, account),) = accounts or {(NAMESPACE, ACCOUNT)}
    bound = {_reference(binding) for binding in bindings}
    for obj in tuple(objects):
        if obj["kind"] in _ROLES and _place(obj) not in bound:
            objects.append(_binding(obj, namespace, account))
    subject = {"kind": "ServiceAccount", "metadata": {"name": account, "namespace": namespace}}
    others = [obj for obj in objects if obj["kind"] != "ServiceAccount"]
    return Acting([subject, *others], namespace, account)


def _objects_of(part: Mapping[str, Any] | Path | str) -> Sequence[Mapping[str, Any]]:
    if isinstance(part, Mapping):
        objects: list[Any] = [part]
    else:
        try:
            objects = [*yaml.safe_load_all(Path(part).read_text(encoding="utf-8"))]
        except (OSError, yaml.YAMLError) as error:
            raise UsageError(f"role {part} cannot be read: {error}") from error
    for obj in objects:
        is_rule = isinstance(obj, Mapping) and "verbs" in obj
        if not is_rule and (not isinstance(obj, Mapping) or obj.get("kind") not in _RESOURCES):
            kinds = ", ".join(_RESOURCES)
            raise UsageError(f"a role consists of rules and of objects of the kinds {kinds}, not of {obj!r}")
    return objects


def _accounts(binding: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    default = binding["metadata"].get("namespace", "")
    subjects = [one for one in binding.get("subjects") or () if one.get("kind") == "ServiceAccount"]
    return [{"namespace": one.get("namespace") or default, "name": one["name"]} for one in subjects]


def _place(role: Mapping[str, Any]) -> tuple[str, str, str]:
    return role["kind"], role["metadata"].get("namespace", ""), role["metadata"]["name"]


def _reference(binding: Mapping[str, Any]) -> tuple[str, str, str]:
    reference = binding["roleRef"]
    namespace = binding["metadata"].get("namespace", "") if reference["kind"] == "Role" else ""
    return reference["kind"], namespace, reference["name"]


def _binding(role: Mapping[str, Any], namespace: str, account: str) -> dict[str, Any]:
    kind, metadata = role["kind"], role["metadata"]
    place = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    return {
        "kind": f"{kind}Binding",
        "metadata": place,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


def _create(client: Client, resource: Resource[Any], obj: Mapping[str, Any]) -> None:
    """Create an object, unless another cluster on the same server has created the same one already."""
    try:
        client.create(resource, dict(obj))
    except AlreadyExists:
        metadata = obj["metadata"]
        key = ObjectKey(metadata["name"], metadata.get("namespace", ""))
        present = client.get(resource, key, dict)
        if present.get("rules") != obj.get("rules"):
            raise UsageError(f"{obj['kind']} {key} exists with other rules: give one of the two another name") from None
