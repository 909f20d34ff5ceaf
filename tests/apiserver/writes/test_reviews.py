# SPDX-License-Identifier: Apache-2.0
"""Reviews tell what the server would decide, and requests for tokens are answered within limits."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking, Object
from kit.apiserver.roles import ACCOUNTS, as_user, bind, grant, rule, token_for

MAY = "/apis/authorization.k8s.io/v1"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
PODS = {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}
VERSION = {"nonResourceAttributes": {"verb": "get", "path": "/version"}}
SOURCE = 'RBAC: allowed by ClusterRoleBinding "jane-of-jane" of ClusterRole "of-jane" to User "jane"'


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        pytest.param({"user": "jane", **PODS}, {"allowed": True, "reason": SOURCE}, id="a user with a role"),
        pytest.param({"user": "jo", **PODS}, {"allowed": False}, id="a user without"),
        pytest.param({"groups": ["system:masters"], **PODS}, {"allowed": True}, id="a group that may do everything"),
        pytest.param({"user": "jane", **VERSION}, {"allowed": False}, id="a path"),
        pytest.param({"user": "dangling", **PODS}, {
            "allowed": False, "reason": 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
        }, id="a user whose role is missing"),
    ],
)  # fmt: skip
def test_what_another_user_may(spec: Object, status: Object, ask: Asking) -> None:
    grant(ask, "jane", rule("pods", "get"))
    bind(ask, "dangling", "ClusterRole", "gone")

    code, answered = ask("POST", f"{MAY}/subjectaccessreviews", {"spec": spec})

    assert (code, answered["spec"], answered["status"]) == (201, spec, status)
    assert ask("GET", f"{MAY}/subjectaccessreviews")[0] == 405, "it is not stored"
    if "resourceAttributes" in spec:
        local = ask.ok("POST", f"{MAY}/namespaces/default/localsubjectaccessreviews", {"spec": spec})
        assert local["status"] == status


@pytest.mark.parametrize(("user", "allowed"), [("admin", True), ("jane", True), ("jo", False)])
def test_what_oneself_may(user: str, allowed: bool, ask: Asking) -> None:
    grant(ask, "jane", rule("pods", "get"))
    headers = {} if user == "admin" else as_user(user)

    answered = ask.ok("POST", f"{MAY}/selfsubjectaccessreviews", {"spec": PODS}, headers=headers)

    assert answered["status"]["allowed"] is allowed


def test_only_those_allowed_ask_about_others(ask: Asking) -> None:
    assert ask("POST", f"{MAY}/subjectaccessreviews", {"spec": {"user": "x", **PODS}}, headers=as_user("jo"))[0] == 403


@pytest.mark.parametrize(
    ("path", "spec", "fields"),
    [
        ("selfsubjectaccessreviews", {}, ["spec.resourceAttributes"]),
        ("selfsubjectaccessreviews", {**PODS, **VERSION}, ["spec.nonResourceAttributes"]),
        ("subjectaccessreviews", {}, ["spec.resourceAttributes", "spec.user"]),
        ("namespaces/other/localsubjectaccessreviews", {"user": "x", **PODS}, ["spec.resourceAttributes.namespace"]),
        ("namespaces/default/localsubjectaccessreviews", {"user": "x", **VERSION}, ["spec.nonResourceAttributes"]),
    ],
)  # fmt: skip
def test_a_review_without_a_question_is_refused(path: str, spec: Object, fields: list[str], ask: Asking) -> None:
    status, body = ask("POST", f"{MAY}/{path}", {"spec": spec})

    assert (status, [cause["field"] for cause in body["details"]["causes"]]) == (422, fields)


def test_all_rules_of_a_user_in_a_namespace(ask: Asking) -> None:
    grant(ask, "jane", rule("pods", "get", names="a"), namespace="default")
    bind(ask, "jane", "ClusterRole", "gone")

    status = ask.ok(
        "POST", f"{MAY}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}, headers=as_user("jane")
    )["status"]

    assert rule("pods", "get", names="a") in status["resourceRules"]
    assert {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]} in status[
        "nonResourceRules"
    ]
    assert status["evaluationError"] == 'clusterrole.rbac.authorization.k8s.io "gone" not found'
    assert ask("POST", f"{MAY}/selfsubjectrulesreviews", {"spec": {}})[0] == 400


def test_a_token_review_tells_the_user_or_the_reason(ask: Asking) -> None:
    token = token_for(ask, "bot")

    def status(**spec: Any) -> Any:
        return ask.ok("POST", TOKEN_REVIEWS, {"spec": spec})["status"]

    known = status(token=token)
    assert (known["authenticated"], known["user"]["username"]) == (True, "system:serviceaccount:default:bot")
    assert known["audiences"] == ["https://kubernetes.default.svc"]
    assert status(token="x") == {"user": {}, "error": "invalid bearer token"}
    assert status(token=token, audiences=["vault"]) == {
        "user": {},
        "error": '[invalid bearer token, token audiences ["https://kubernetes.default.svc"] is invalid for the target '
        'audiences ["vault"]]',
    }
    assert status(token=token_for(ask, "bot", {"audiences": ["vault"]}), audiences=["vault"])["audiences"] == ["vault"]
    assert ask("POST", TOKEN_REVIEWS, {"spec": {"token": ""}})[0] == 400


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        pytest.param({"spec": {"expirationSeconds": 599}}, 422, "less than 10 minutes", id="too short"),
        pytest.param({"spec": {"expirationSeconds": 0}}, 422, "less than 10 minutes", id="no time"),
        pytest.param({"spec": {"expirationSeconds": 2**32 + 1}}, 422, "larger than 2^32 seconds", id="too long"),
        pytest.param({"metadata": {"name": "x"}}, 422, "must match the service account name", id="another name"),
        pytest.param({"metadata": {"namespace": "x"}}, 400, "does not match the namespace", id="another namespace"),
        pytest.param({"metadata": {"uid": "x"}}, 409, "does not match the UID of the service", id="another uid"),
        pytest.param({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "x"}}}, 404,
                     'pods "x" not found', id="no such pod"),
        pytest.param({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "apps/v1", "name": "x"}}}, 400,
                     "cannot bind token to object of type apps/v1, Kind=Pod", id="another kind"),
        pytest.param({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}}, 400,
                     'cannot bind token for serviceaccount "bot" to pod', id="a pod of another account"),
        pytest.param({"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": "x"}}}, 409,
                     "does not match the UID in record", id="a secret that was made again"),
    ],
)  # fmt: skip
def test_a_request_for_a_token_is_refused(body: Object, status: int, text: str, ask: Asking) -> None:
    token_for(ask, "bot")
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    ask.ok("POST", "/api/v1/namespaces/default/pods", pod)
    ask.ok("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}})

    answered, refusal = ask("POST", f"{ACCOUNTS}/bot/token", body)

    assert (answered, text in refusal["message"]) == (status, True), refusal["message"]


def test_a_token_is_for_an_account_that_exists_and_is_only_made(ask: Asking) -> None:
    assert ask("POST", f"{ACCOUNTS}/nobody/token", {})[0] == 404
    token_for(ask, "bot")
    assert ask("GET", f"{ACCOUNTS}/bot/token")[0] == 405
    assert ask("POST", f"{ACCOUNTS}/bot/token", {}, headers=as_user("jo"))[0] == 403
