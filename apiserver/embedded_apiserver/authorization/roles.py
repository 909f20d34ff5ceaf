# SPDX-License-Identifier: Apache-2.0
"""All roles and bindings at one moment, arranged by the subjects that are bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from apimachinery.decoding import converter_of
from apimachinery.selectors import LabelSelector
from embedded_apiserver.authorization.policy import Rule, quoted
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.users import User, account_name

_GROUP = "rbac.authorization.k8s.io"
# The most answers to `grants` that are kept: as many as there are users and namespaces in use, if those are few.
_MOST_KEPT = 1024
# More subjects than fit into a binding of the largest size that is accepted.
_SUBJECTS = 1 << 20


class Unresolved(Exception):
    """The role of a binding does not exist, or has an unsupported kind; the message is that of a real API server."""

    def __init__(self, message: str, *, is_missing: bool) -> None:
        super().__init__(message)
        self.is_missing = is_missing


class Grant(NamedTuple):
    """The permissions that one binding gives to one user.

    Attributes:
        rules: The rules of the role.
        problem: The error if the role does not exist, so that there are no rules; otherwise empty.
        source: The description of the binding, as in reviews.
    """

    rules: tuple[Rule, ...]
    problem: str
    source: str


class _RoleMetadata(msgspec.Struct, gc=False):
    name: str
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Aggregation(msgspec.Struct, rename="camel"):
    cluster_role_selectors: list[dict[str, Any]] | None = None


class _Role(msgspec.Struct, rename="camel"):
    metadata: _RoleMetadata
    rules: tuple[Rule, ...] | None = None
    aggregation_rule: _Aggregation | None = None


class _Reference(msgspec.Struct):
    kind: str = ""
    name: str = ""


class _Subject(msgspec.Struct):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _Binding(msgspec.Struct, rename="camel"):
    metadata: _RoleMetadata
    role_ref: _Reference
    subjects: tuple[_Subject, ...] | None = None


_as_role, _as_binding = msgspec.json.Decoder(_Role), msgspec.json.Decoder(_Binding)
_as_roles: Callable[[Any], list[_Role]] = converter_of(list[_Role])
# A subject as users have it: its kind, `User` or `Group`, and the name.
_Key = tuple[str, str]


class Roles:
    """All roles and bindings at one moment, indexed by the bound subjects.

    Args:
        cluster_roles: The stored cluster roles.
        roles: The stored roles.
        cluster_bindings: The stored cluster role bindings.
        bindings: The stored role bindings.

    Threads: any.
    """

    def __init__(
        self,
        cluster_roles: Iterable[Stored],
        roles: Iterable[Stored],
        cluster_bindings: Iterable[Stored],
        bindings: Iterable[Stored],
    ) -> None:
        decoded = [_as_role.decode(item.raw) for item in cluster_roles]
        self._cluster_roles = aggregated({one.metadata.name: one for one in decoded})
        self._roles = {item.key: _as_role.decode(item.raw).rules or () for item in roles}
        # By namespace (empty for those of the whole cluster) and subject, in the order of the bindings' names.
        self._bound: dict[str, dict[_Key, list[tuple[int, Grant]]]] = {}
        # Answers of `grants`. Threads may compute the same one at once; both are equal.
        self._kept: dict[tuple[str, tuple[str, ...], str], tuple[Grant, ...]] = {}
        for number, item in enumerate((*cluster_bindings, *bindings)):
            self._bind(number, _as_binding.decode(item.raw))

    def grants(self, user: User, namespace: str) -> tuple[Grant, ...]:
        """Return the grants of a user in the whole cluster, and in a namespace if `namespace` is not empty."""
        asked = (user.name, user.groups, namespace)
        if (found := self._kept.get(asked)) is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[asked] = tuple(self._grants(user, namespace))
        return found

    def rules_of(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...]:
        """Return the rules of the role to which a binding in `namespace` refers.

        Raises:
            Unresolved: The role does not exist, or `kind` is not the kind of a role.
        """
        match kind:
            case "ClusterRole":
                found = self._cluster_roles.get(name)
            case "Role":
                found = self._roles.get(f"{namespace}/{name}")
            case _:
                raise Unresolved(f"unsupported role reference kind: {quoted(kind)}", is_missing=False)
        if found is None:
            raise Unresolved(f"{kind.lower()}.{_GROUP} {quoted(name)} not found", is_missing=True)
        return found

    def _grants(self, user: User, namespace: str) -> Iterable[Grant]:
        keys: list[_Key] = [("User", user.name), *(("Group", group) for group in user.groups)]
        for place in ("", namespace) if namespace else ("",):
            bound = self._bound.get(place, {})
            # A binding counts once, as that of the first of its subjects that is meant.
            first: dict[int, tuple[int, Grant]] = {}
            for key in keys:
                for order, grant in bound.get(key, ()):
                    number, subject = divmod(order, _SUBJECTS)
                    if number not in first or subject < first[number][0]:
                        first[number] = subject, grant
            yield from (first[number][1] for number in sorted(first))

    def _bind(self, number: int, binding: _Binding) -> None:
        namespace, reference = binding.metadata.namespace, binding.role_ref
        rules: tuple[Rule, ...] = ()
        problem = ""
        try:
            rules = self.rules_of(reference.kind, reference.name, namespace)
        except Unresolved as error:
            problem = str(error)
        title = _title("RoleBinding" if namespace else "ClusterRoleBinding", binding.metadata)
        for place, subject in enumerate((binding.subjects or ())[:_SUBJECTS]):
            if (key := _key_of(subject, namespace)) is not None:
                told = f"{title} of {reference.kind} {quoted(reference.name)} to {_told(subject, namespace)}"
                grant = Grant(rules, problem, told)
                self._bound.setdefault(namespace, {}).setdefault(key, []).append((number * _SUBJECTS + place, grant))


def aggregated(roles: Mapping[str, _Role]) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of each cluster role by name. An aggregated role has the rules of all roles that it selects.

    In a real cluster the controller manager writes these rules into the role. Here they are computed from the labels,
    so that a server without controllers grants the same permissions.
    """
    selects = {name: _selectors(role.aggregation_rule) for name, role in roles.items() if role.aggregation_rule}

    def sources(name: str, seen: set[str]) -> Iterable[str]:
        """Yield the roles without an aggregation rule whose rules a role gets, each once."""
        seen.add(name)
        if name not in selects:
            yield name
            return
        for other in sorted(roles):
            labels = roles[other].metadata.labels or {}
            if other not in seen and any(one.matches(labels) for one in selects[name]):
                yield from sources(other, seen)

    made = {}
    for name, role in roles.items():
        rules = (rule for source in sources(name, set()) for rule in roles[source].rules or ())
        made[name] = tuple(dict.fromkeys(rules)) if name in selects else role.rules or ()
    return made


def aggregated_rules(roles: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the rules of each of these cluster roles by name, as JSON for the role's field `rules`."""
    converted = _as_roles(list(roles))
    return {
        name: msgspec.to_builtins(list(rules))
        for name, rules in aggregated({one.metadata.name: one for one in converted}).items()
    }


def _selectors(rule: _Aggregation) -> Sequence[LabelSelector]:
    made = []
    for raw in rule.cluster_role_selectors or ():
        try:
            made.append(LabelSelector.from_object(raw))
        except ValueError:  # an unknown operator, which a new role cannot have
            continue
    return made


def _key_of(subject: _Subject, namespace: str) -> _Key | None:
    match subject.kind:
        case "User" | "Group":
            return subject.kind, subject.name
        case "ServiceAccount" if place := subject.namespace or namespace:
            return "User", account_name(place, subject.name)
        case _:
            return None


def _title(kind: str, metadata: _RoleMetadata) -> str:
    return f"{kind} {quoted(f'{metadata.name}/{metadata.namespace}' if metadata.namespace else metadata.name)}"


def _told(subject: _Subject, namespace: str) -> str:
    if subject.kind == "ServiceAccount":
        return f"{subject.kind} {quoted(f'{subject.name}/{subject.namespace or namespace}')}"
    return f"{subject.kind} {quoted(subject.name)}"
