# SPDX-License-Identifier: Apache-2.0
"""Answers whether a request is allowed, by the roles and bindings in the storage."""

from __future__ import annotations

from typing import NamedTuple

from embedded_apiserver.authorization.attributes import Attributes
from embedded_apiserver.authorization.policy import Rule, allows, quoted
from embedded_apiserver.authorization.roles import Roles
from embedded_apiserver.groups.rbac.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from embedded_apiserver.status import StatusError, qualified
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.users import User

_COLLECTIONS = tuple(kind.resource for kind in (CLUSTER_ROLE, ROLE, CLUSTER_ROLE_BINDING, ROLE_BINDING))
# A real server writes these escapes, because browsers may show a refusal.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Decision(NamedTuple):
    """The result of a permission check.

    Attributes:
        allowed: True if the request is allowed.
        reason: The binding that allows the request, or the bindings whose roles do not exist; empty if there are none.
    """

    allowed: bool
    reason: str = ""


class Authorizer:
    """Decides whether a request is allowed, by the current roles and bindings in the storage.

    Args:
        storage: The objects, including the roles and bindings.

    Threads: any. The cached roles are replaced as a whole after a role or binding has changed. The storage's lock
    guards each collection while it is read; no other lock is needed.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        # The roles, and the versions of their collections from which they were made.
        self._current: tuple[tuple[int, ...], Roles] | None = None

    def decide(self, asked: Attributes) -> Decision:
        """Return whether a request is allowed, with the reason."""
        if asked.user.may_do_everything:
            return Decision(True)
        grants = self.roles().grants(asked.user, asked.namespace)
        for grant in grants:
            for rule in grant.rules:
                if allows(rule, asked):
                    return Decision(True, f"RBAC: allowed by {grant.source}")
        problems = [grant.problem for grant in grants if grant.problem]
        return Decision(False, f"RBAC: {combined(problems)}" if problems else "")

    def check(self, asked: Attributes) -> None:
        """Check that a request is allowed.

        Raises:
            StatusError: 403, the request is not allowed.
        """
        if not asked.user.may_do_everything and not (decision := self.decide(asked)).allowed:
            raise denied(asked, decision.reason)

    def rules_for(self, user: User, namespace: str) -> tuple[list[Rule], list[str]]:
        """Return the rules that apply to a user in a namespace, and the errors for bindings whose role does not
        exist.
        """
        grants = self.roles().grants(user, namespace)
        return [rule for grant in grants for rule in grant.rules], [grant.problem for grant in grants if grant.problem]

    def roles(self) -> Roles:
        """Return the current roles and bindings."""
        # Read before the objects: if one changes in between, the next call finds another version.
        versions = self._storage.last_changes(_COLLECTIONS)
        if (current := self._current) is None or current[0] != versions:
            made = Roles(*(self._storage.read(name).items for name in _COLLECTIONS))
            current = self._current = versions, made
        return current[1]


def combined(problems: list[str]) -> str:
    """Return several messages as one text: each message once, in brackets if there are several."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def denied(asked: Attributes, reason: str = "") -> StatusError:
    """Return the error (403) for a request that is not allowed; `reason` is added to its message."""
    text = f"User {quoted(asked.user.name)} cannot {asked.verb} "
    if asked.path:
        text += f"path {quoted(asked.path)}"
        message = f"forbidden: {text.translate(_ESCAPES)}"
        return StatusError(403, "Forbidden", f"{message}: {reason}" if reason else message, details={})
    whole = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    scope = f"in the namespace {quoted(asked.namespace)}" if asked.namespace else "at the cluster scope"
    text += f"resource {quoted(whole)} in API group {quoted(asked.group)} {scope}"
    text = text.translate(_ESCAPES)
    return forbidden(asked.group, asked.resource, asked.name, f"{text}: {reason}" if reason else text)


def forbidden(group: str, resource: str, name: str, text: str) -> StatusError:
    """Return an error (403) whose message names a resource and, if `name` is not empty, an object."""
    title = f"{qualified(resource, group)} {quoted(name)}" if name else qualified(resource, group)
    details = {key: value for key, value in (("name", name), ("group", group), ("kind", resource)) if value}
    return StatusError(403, "Forbidden", f"{title} is forbidden: {text}", details=details)
