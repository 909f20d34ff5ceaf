# SPDX-License-Identifier: Apache-2.0
"""Access and identity reviews, which are answered and not stored.

There is one user, the bearer of the token, with all permissions. Roles are stored but not evaluated. Of other
users it is therefore only known that members of `system:masters` have all permissions, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controller_runtime.apiserver.kinds import registry as kinds
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.rules import Object, part

_MASTERS = "system:masters"
_USER = {"username": "admin", "groups": [_MASTERS, "system:authenticated"]}


def review(kind: Kind, obj: Object) -> dict[str, Any]:
    """Return a decoded review with its answer as the status."""
    return {"metadata": {}, **obj, "status": _ANSWERS[kind](obj)}


def _of_self(obj: Object) -> Object:
    return {"allowed": True}


def _of_user(obj: Object) -> Object:
    allowed = _MASTERS in part(obj, "spec").get("groups", ())
    return {"allowed": True} if allowed else {"allowed": False, "reason": "roles are not evaluated here"}


def _rules(obj: Object) -> Object:
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    return {
        "resourceRules": [everything],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


def _user_info(obj: Object) -> Object:
    return {"userInfo": _USER}


_ANSWERS: Mapping[Kind, Callable[[Object], Object]] = {
    kinds.SELF_REVIEW: _user_info,
    kinds.SELF_ACCESS_REVIEW: _of_self,
    kinds.SELF_RULES_REVIEW: _rules,
    kinds.ACCESS_REVIEW: _of_user,
    kinds.LOCAL_ACCESS_REVIEW: _of_user,
}
