# SPDX-License-Identifier: Apache-2.0
"""No user grants rights by a role or binding that the user does not have."""

from __future__ import annotations

import pytest
from kit.apiserver.asking import MERGE, Asking, Object
from kit.apiserver.roles import RBAC, as_user, bind, grant, rule

GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES, BINDINGS = f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings"
ROLES = f"{RBAC}/namespaces/default/roles"
ALL = "roles clusterroles rolebindings clusterrolebindings"


@pytest.fixture
def maker(ask: Asking) -> dict[str, str]:
    """The headers of a user who may write all roles and bindings, and list nodes."""
    grant(ask, "maker", rule(ALL, "get create update patch", GROUP), rule("nodes", "list"))
    return as_user("maker")


def role(name: str, *rules: Object) -> Object:
    return {"metadata": {"name": name}, "rules": list(rules)}


def binding(name: str, kind: str, to: str, **subject: str) -> Object:
    reference = {"apiGroup": GROUP, "kind": kind, "name": to}
    return {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject] if subject else []}


def test_a_role_may_grant_what_its_writer_has(ask: Asking, maker: dict[str, str]) -> None:
    assert ask("POST", CLUSTER_ROLES, role("a", rule("nodes", "list")), headers=maker)[0] == 201
    assert ask("POST", ROLES, role("a", rule("nodes", "list", names="x")), headers=maker)[0] == 201


def test_a_role_with_more_is_refused_with_what_is_missing(ask: Asking, maker: dict[str, str]) -> None:
    status, body = ask("POST", ROLES, role("a", rule("nodes pods", "list get")), headers=maker)

    assert status == 403
    assert body["message"] == (
        'roles.rbac.authorization.k8s.io "a" is forbidden: user "maker" (groups=["system:authenticated"]) is '
        "attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}\n'
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "get"]}'
    )


@pytest.mark.parametrize("write", ["update", "patch", "apply", "create by update", "create by apply"])
def test_no_way_of_writing_evades_it(write: str, ask: Asking, maker: dict[str, str]) -> None:
    more = role("a", rule("secrets", "*"))
    if not write.startswith("create"):
        ask.ok("POST", CLUSTER_ROLES, role("a", rule("nodes", "list")))
    applied = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", **more}
    media_type = {"patch": MERGE, "apply": "application/apply-patch+yaml"}.get(write.split()[-1], "application/json")
    method = "PUT" if write.endswith("update") else "PATCH"

    headers = {**maker, "content-type": media_type}
    forced = {"force": "true"} if write == "apply" else {}
    status, body = ask(method, f"{CLUSTER_ROLES}/a", applied, headers=headers, fieldManager="x", **forced)

    assert (status, "permissions not currently held" in body["message"]) == (403, True)
    assert ask("GET", f"{CLUSTER_ROLES}/a")[1].get("rules") != more["rules"]


def test_a_dry_run_is_refused_too(ask: Asking, maker: dict[str, str]) -> None:
    assert ask("POST", CLUSTER_ROLES, role("a", rule("pods", "get")), headers=maker, dryRun="All")[0] == 403


def test_a_user_who_may_escalate_writes_any_role(ask: Asking, maker: dict[str, str]) -> None:
    grant(ask, "maker", rule("clusterroles", "escalate", GROUP, "free"), name="escalating")

    assert ask("PUT", f"{CLUSTER_ROLES}/free", role("free", rule("pods", "get")), headers=maker)[0] == 201
    assert ask("PUT", f"{CLUSTER_ROLES}/other", role("other", rule("pods", "get")), headers=maker)[0] == 403


def test_a_role_that_gathers_others_needs_all_rights(ask: Asking, maker: dict[str, str]) -> None:
    gathering = {**role("a"), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}

    status, body = ask("POST", CLUSTER_ROLES, gathering, headers=maker)
    assert (status, "must have cluster-admin privileges" in body["message"]) == (403, True)
    ask.ok("POST", CLUSTER_ROLES, gathering)
    assert ask("PUT", f"{CLUSTER_ROLES}/a", role("a"), headers=maker)[0] == 403, "one that gathered, too"


def test_what_grants_no_more_may_be_changed(ask: Asking, maker: dict[str, str]) -> None:
    ask.ok("POST", CLUSTER_ROLES, role("a", rule("secrets", "*")))
    headers = {**maker, "content-type": MERGE}

    assert ask("PATCH", f"{CLUSTER_ROLES}/a", {"metadata": {"finalizers": ["a.b/c"]}}, headers=headers)[0] == 200
    assert ask("PATCH", f"{CLUSTER_ROLES}/a", {"metadata": {"labels": {"a": "b"}}}, headers=headers)[0] == 403


@pytest.mark.parametrize(
    ("kind", "name", "status"),
    [
        pytest.param("ClusterRole", "mine", 201, id="one whose rights the user has"),
        pytest.param("ClusterRole", "theirs", 403, id="one with others"),
        pytest.param("ClusterRole", "cluster-admin", 403, id="that of administrators"),
        pytest.param("ClusterRole", "missing", 404, id="one that does not exist"),
        pytest.param("ClusterRole", "free", 201, id="one that the user may bind"),
    ],
)
def test_a_binding_needs_the_rights_of_its_role(
    kind: str, name: str, status: int, ask: Asking, maker: dict[str, str]
) -> None:
    ask.ok("POST", CLUSTER_ROLES, role("mine", rule("nodes", "list")))
    for one in ("theirs", "free"):
        ask.ok("POST", CLUSTER_ROLES, role(one, rule("secrets", "*")))
    grant(ask, "maker", rule("clusterroles", "bind", GROUP, "free"), name="binding")

    for path in (BINDINGS, f"{RBAC}/namespaces/default/rolebindings"):
        assert ask("POST", path, binding("b", kind, name), headers=maker)[0] == status


def test_rights_in_a_namespace_count_there_alone(ask: Asking) -> None:
    bind(ask, "local", "ClusterRole", "admin", "default")
    body = role("a", rule("configmaps", "get"))

    assert ask("POST", ROLES, body, headers=as_user("local"))[0] == 201
    assert ask("POST", ROLES.replace("default", "kube-system"), body, headers=as_user("local"))[0] == 403
    assert ask("POST", CLUSTER_ROLES, body, headers=as_user("local"))[0] == 403


def test_a_binding_always_names_the_same_role(ask: Asking) -> None:
    ask.ok("POST", BINDINGS, binding("b", "ClusterRole", "view"))

    status, body = ask("PUT", f"{BINDINGS}/b", binding("b", "ClusterRole", "edit"))

    shown = '{"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"edit"}'
    assert status == 422
    assert body["message"].endswith(f"roleRef: Invalid value: {shown}: cannot change roleRef")
