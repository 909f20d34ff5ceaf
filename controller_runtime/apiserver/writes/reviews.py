# SPDX-License-Identifier: Apache-2.0
"""Questions about who may do what, answered and forgotten.

There is one user, who may do everything: the bearer of the token. Roles are stored, not
evaluated, so of others it is only known that members of `system:masters` may, too.
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
    """A review, as `decode` gives it, with its answer."""
    return {"metadata": {}, **obj, "status": _ANSWERS[kind](obj)}


def _of_self(obj: Object) -> Object:
    return {"allowed": True}


def _of_somebody(obj: Object) -> Object:
    allowed = _MASTERS in part(obj, "spec").get("groups", ())
    return {"allowed": True} if allowed else {"allowed": False, "reason": "roles are not evaluated here"}


def _rules(obj: Object) -> Object:
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    return {
        "resourceRules": [everything],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


def _who(obj: Object) -> Object:
    return {"userInfo": _USER}


_ANSWERS: Mapping[Kind, Callable[[Object], Object]] = {
    kinds.SELF_REVIEW: _who,
    kinds.SELF_ACCESS_REVIEW: _of_self,
    kinds.SELF_RULES_REVIEW: _rules,
    kinds.ACCESS_REVIEW: _of_somebody,
    kinds.LOCAL_ACCESS_REVIEW: _of_somebody,
}
