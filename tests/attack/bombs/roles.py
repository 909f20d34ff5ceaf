# SPDX-License-Identifier: Apache-2.0
"""Roles of very many rights, by a user who may write roles and not grant more than the user has."""

from __future__ import annotations

from collections.abc import Iterable

from apimachinery.http import BODY_LIMIT, HTTPRequest
from bombs.making import Object, ask, bomb

_GROUP = "rbac.authorization.k8s.io"
_RBAC = f"/apis/{_GROUP}/v1"
_ROLES = f"{_RBAC}/namespaces/default/roles"


def _product(count: int) -> Object:
    """Return a rule of `count` to the power of four rights."""
    texts = [str(number) for number in range(count)]
    return {"apiGroups": texts, "resources": texts, "verbs": texts, "resourceNames": texts}


def _writer(*owned: Object) -> list[HTTPRequest]:
    """Return the requests that make a user who may create roles, and has some rights to grant."""
    rules = [{"apiGroups": [_GROUP], "resources": ["roles"], "verbs": ["create"]}, *owned]
    reference = {"apiGroup": _GROUP, "kind": "ClusterRole", "name": "writer"}
    subjects = [{"apiGroup": _GROUP, "kind": "User", "name": "jane"}]
    return [
        ask("POST", f"{_RBAC}/clusterroles", {"metadata": {"name": "writer"}, "rules": rules}),
        ask(
            "POST",
            f"{_RBAC}/clusterrolebindings",
            {"metadata": {"name": "writer"}, "roleRef": reference, "subjects": subjects},
        ),
    ]


def _by_writer(rules: Iterable[Object]) -> HTTPRequest:
    asked = ask("POST", _ROLES, {"metadata": {"name": "a", "namespace": "default"}, "rules": list(rules)})
    return HTTPRequest(asked.method, asked.path, headers={**asked.headers, "impersonate-user": "jane"}, body=asked.body)


@bomb("roles: 2,560,000 rights that its writer lacks", _writer)
def _() -> HTTPRequest:
    return _by_writer([_product(40)])


@bomb("roles: as many rights as fit", _writer)
def _() -> HTTPRequest:
    return _by_writer([_product(19_000)])


@bomb("roles: rights with the longest names", _writer)
def _() -> HTTPRequest:
    rule = _product(40)
    return _by_writer([{**rule, "resourceNames": ["x" * (BODY_LIMIT - 4_000)]}])


@bomb("roles: 2,560,000 rights that its writer has", lambda: _writer(_product(40)))
def _() -> HTTPRequest:
    return _by_writer([_product(40)])


@bomb("roles: rights that many rules nearly grant", lambda: _writer(*[{**_product(5), "verbs": ["x"]}] * 1_000))
def _() -> HTTPRequest:
    return _by_writer([{**_product(5), "verbs": ["y"]}] * 1_000)


@bomb("roles: many small rules that its writer lacks", _writer)
def _() -> HTTPRequest:
    return _by_writer([{"apiGroups": [""], "resources": ["a"], "verbs": ["get"]}] * 9_000)


def _paths(count: int) -> Object:
    return {"nonResourceURLs": [f"/{number}*" for number in range(count)], "verbs": ["get"]}


@bomb("roles: paths that its writer has", lambda: _writer(_paths(20_000)))
def _() -> HTTPRequest:
    return _by_writer([_paths(20_000)])
