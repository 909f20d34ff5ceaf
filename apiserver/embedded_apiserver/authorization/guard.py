# SPDX-License-Identifier: Apache-2.0
"""The permissions that depend on the content of a write rather than on its path only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apimachinery.decoding import converter_of
from apimachinery.names import path_segment_errors
from embedded_apiserver.authorization.attributes import Attributes
from embedded_apiserver.authorization.authorizer import Authorizer, combined, forbidden
from embedded_apiserver.authorization.policy import EVERYTHING, Rule, quoted, quoted_list, uncovered
from embedded_apiserver.authorization.roles import Unresolved
from embedded_apiserver.groups.rbac.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.status import bad_request, not_found, untyped
from embedded_apiserver.users import User

_ROLES, _BINDINGS = (CLUSTER_ROLE, ROLE), (CLUSTER_ROLE_BINDING, ROLE_BINDING)
_GROUP = CLUSTER_ROLE.group
# The metadata that everyone may change who may write the object, because garbage collection has to.
_FREE_METADATA = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")

_Object = Mapping[str, Any]
_as_rules: Callable[[Any], tuple[Rule, ...]] = converter_of(tuple[Rule, ...])


class Guard:
    """Checks those permissions of one user that depend on the content of a write, not only on its path.

    Args:
        authorizer: Decides the permissions of users.
        user: The user of the request, who is not an administrator.

    Threads: any.
    """

    def __init__(self, authorizer: Authorizer, user: User) -> None:
        self._authorizer = authorizer
        self._user = user

    def check_create(self, kind: Kind, namespace: str, name: str, new: _Object) -> None:
        """Refuse an update or apply that would create an object if the user may not create it.

        Raises:
            StatusError: 403, the user may not create the object; other errors are those of `check_write`.
        """
        self.check_write(kind, namespace, name, None, new)
        self._authorizer.check(Attributes(self._user, "create", kind.group, kind.plural, "", namespace, name))

    def check_write(self, kind: Kind, namespace: str, name: str, old: _Object | None, new: _Object) -> None:
        """Refuse to write a role or binding that would grant permissions which the user does not have.

        Args:
            kind: The kind of the object; objects that are neither roles nor bindings are always accepted.
            namespace: The namespace in the path; empty for cluster-scoped kinds.
            name: The name in the path; empty for a create.
            old: The stored object; None if the write creates `new`.
            new: The object to be stored.

        Raises:
            StatusError: 400, a binding names its role in an invalid way; 403, the user lacks a permission; 404, the
                role of a binding does not exist; 413, there are too many rules to compare; 500, the role of a binding
                has an unknown kind.
        """
        if kind not in _ROLES and kind not in _BINDINGS:
            return
        if old is not None and _relevant(old) == _relevant(new):
            return
        if kind in _ROLES:
            self._check_role(kind, namespace, name, old, new)
        else:
            self._check_binding(kind, namespace, new)

    def _check_role(self, kind: Kind, namespace: str, name: str, old: _Object | None, new: _Object) -> None:
        asked = Attributes(self._user, "escalate", kind.group, kind.plural, "", namespace, name)
        if self._authorizer.decide(asked).allowed:
            return
        own_name = new.get("metadata", {}).get("name") or ""
        rules = _as_rules(new.get("rules") or ())
        self._check_owned(kind, namespace, own_name, rules)
        if _aggregates(new) or (old is not None and _aggregates(old)):
            owned, _ = self._authorizer.rules_for(self._user, namespace)
            if uncovered(owned, EVERYTHING).first:
                text = "must have cluster-admin privileges to use the aggregationRule"
                raise forbidden(kind.group, kind.plural, own_name, text)

    def _check_binding(self, kind: Kind, namespace: str, new: _Object) -> None:
        reference = new.get("roleRef") or {}
        role_kind, role = str(reference.get("kind") or ""), str(reference.get("name") or "")
        resource = {"ClusterRole": CLUSTER_ROLE.plural, "Role": ROLE.plural}.get(role_kind)
        if resource is not None:
            group = str(reference.get("apiGroup") or _GROUP)
            asked = Attributes(self._user, "bind", group, resource, "", namespace, role)
            if self._authorizer.decide(asked).allowed:
                return
        if kind == CLUSTER_ROLE_BINDING and role_kind == "Role":
            raise bad_request("Namespace parameter required.")
        if resource is not None and not role:
            raise bad_request("Name parameter required.")
        if problem := next(iter(path_segment_errors(role)), ""):
            raise bad_request(f"Name parameter invalid: {quoted(role)}: {problem}")
        try:
            rules = self._authorizer.roles().rules_of(role_kind, role, namespace)
        except Unresolved as error:
            raise (not_found(kind, role) if error.is_missing else untyped(str(error))) from error
        self._check_owned(kind, namespace, new.get("metadata", {}).get("name") or "", rules)

    def _check_owned(self, kind: Kind, namespace: str, name: str, rules: tuple[Rule, ...]) -> None:
        owned, problems = self._authorizer.rules_for(self._user, namespace)
        missing = uncovered(owned, rules)
        if not missing.first:
            return
        user = self._user
        text = f"user {quoted(user.name)} (groups={quoted_list(user.groups)}) is attempting to grant RBAC permissions "
        text += "not currently held:\n" + "\n".join([*map(str, missing.first), *filter(None, [missing.more])])
        if problems:
            text += f"; resolution errors: [{combined(problems)}]"
        raise forbidden(kind.group, kind.plural, name, text)


def _aggregates(role: _Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _relevant(obj: _Object) -> _Object:
    """Return an object without the metadata that anyone who may write it may change."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _FREE_METADATA}
    return {**obj, "metadata": metadata}
