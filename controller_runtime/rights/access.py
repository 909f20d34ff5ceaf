# SPDX-License-Identifier: Apache-2.0
"""Accesses: single rights, from the rules of roles and into them. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

API_VERSION = "rbac.authorization.k8s.io/v1"
ROLES = ("Role", "ClusterRole")
BINDINGS = ("RoleBinding", "ClusterRoleBinding")

# The order of verbs in a rule; others follow by the alphabet.
_ORDER = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


class Access(NamedTuple):
    """One right: a verb on a resource, in one namespace or everywhere. In a granted right, `*` stands for everything.

    Attributes:
        namespace: The namespace of the Role; empty for a right everywhere (a ClusterRole).
        group: The API group; empty for the core group.
        resource: The resource with its subresource, such as `pods/status`; empty for an access to a path.
        verb: The verb.
        name: The name of the only object to which it applies; empty for all.
        path: A path that names no resource, such as `/metrics`.
    """

    namespace: str
    group: str
    resource: str
    verb: str
    name: str = ""
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"{self.verb} {self.path}"
        plural, slash, subresource = self.resource.partition("/")
        what = (f"{plural}.{self.group}" if self.group else plural) + slash + subresource
        return f"{self.verb} {what}" + (f" {self.name}" if self.name else "") + self._where()

    def _where(self) -> str:
        return f" in the namespace {self.namespace}" if self.namespace else ""

    def covers(self, other: Access) -> bool:
        """Return whether this granted right allows `other`."""
        if bool(self.path) != bool(other.path) or not _matches(self.verb, other.verb):
            return False
        if self.path:
            return self.path == other.path or (self.path.endswith("*") and other.path.startswith(self.path[:-1]))
        return (
            self.namespace in ("", other.namespace)
            and self.name in ("", other.name)
            and _matches(self.group, other.group)
            and (_matches(self.resource, other.resource) or self.resource == f"*/{other.resource.partition('/')[2]}")
        )


def _matches(granted: str, asked: str) -> bool:
    return granted in ("*", asked)


def minimal(accesses: Iterable[Access]) -> set[Access]:
    """Return the accesses that no other one of the same group, resource, verb and path includes."""
    unique = set(accesses)
    kinds = defaultdict(list)
    for access in unique:
        kinds[access.group, access.resource, access.verb, access.path].append(access)
    return {
        access
        for same in kinds.values()
        for access in same
        if not any(other != access and other.covers(access) for other in same)
    }


def granted_by(objects: Iterable[Mapping[str, Any]]) -> set[Access]:
    """Return the accesses that roles grant.

    A ClusterRole counts everywhere, unless only RoleBindings in `objects` bind it.
    """
    documents = [*objects]
    bound = {document["roleRef"]["name"] for document in documents if document["kind"] == "ClusterRoleBinding"}
    local: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        if document["kind"] == "RoleBinding" and document["roleRef"]["kind"] == "ClusterRole":
            local[document["roleRef"]["name"]].add(document["metadata"]["namespace"])
    granted: set[Access] = set()
    for document in documents:
        if document["kind"] not in ROLES:
            continue
        name, namespace = document["metadata"]["name"], document["metadata"].get("namespace", "")
        is_local = document["kind"] == "ClusterRole" and name not in bound and name in local
        for place in local[name] if is_local else {namespace if document["kind"] == "Role" else ""}:
            granted |= {access for rule in document.get("rules") or () for access in _of_rule(place, rule)}
    return granted


def _of_rule(namespace: str, rule: Mapping[str, Any]) -> Iterator[Access]:
    for verb in rule["verbs"]:
        for path in rule.get("nonResourceURLs") or ():
            yield Access("", "", "", verb, path=path)
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or ("",):
                    yield Access(namespace, group, resource, verb, name)


def roles(accesses: Iterable[Access], name: str) -> list[dict[str, Any]]:
    """Return roles, all called `name`, that grant exactly these accesses: a ClusterRole, and Roles by namespace.

    The result is deterministic: each access is granted once, by as few rules as possible without further grants, and
    all lists are sorted.
    """
    places: dict[str, set[Access]] = defaultdict(set)
    for access in minimal(accesses):
        places[access.namespace].add(access)
    return [_role(name, namespace, places[namespace]) for namespace in sorted(places)]


def _role(name: str, namespace: str, accesses: Collection[Access]) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    kind = "Role" if namespace else "ClusterRole"
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "rules": rules(accesses)}


def rules(accesses: Iterable[Access]) -> list[dict[str, list[str]]]:
    """Return the RBAC rules that grant these accesses, regardless of namespaces. No access may include another."""
    some = [*accesses]
    # Each access is a product of sets of one value; a rule is a product of larger ones. No names are all names: such a
    # product meets none that differs by its names alone, because it would cover that.
    objects = {((a.group,), (a.resource,), (a.name,) if a.name else (), (a.verb,)) for a in some if not a.path}
    paths = {((a.path,), (a.verb,)) for a in some if a.path}
    keys = ("apiGroups", "resources", "resourceNames", "verbs")
    return [
        *(_rule(keys, product) for product in _merged(objects, (3, 2, 1, 0))),
        *(_rule(("nonResourceURLs", "verbs"), product) for product in _merged(paths, (1, 0))),
    ]


_Product = tuple[tuple[str, ...], ...]


def _merged(products: Iterable[_Product], factors: Iterable[int]) -> list[_Product]:
    """Return products for the same combinations, after those that differ in one factor only were made one."""
    found = {*products}
    for factor in factors:
        values: dict[tuple[_Product, _Product], set[str]] = defaultdict(set)
        for product in found:
            values[product[:factor], product[factor + 1 :]].update(product[factor])
        found = {(*before, _ordered(each), *after) for (before, after), each in values.items()}
    return sorted(found)


def _ordered(values: set[str]) -> tuple[str, ...]:
    """Return the values in the order of the alphabet, but verbs in their usual one."""
    return tuple(sorted(values, key=lambda value: (_ORDER.index(value) if value in _ORDER else len(_ORDER), value)))


def _rule(keys: Iterable[str], product: _Product) -> dict[str, list[str]]:
    return {key: [*values] for key, values in zip(keys, product, strict=True) if values}
