# SPDX-License-Identifier: Apache-2.0
"""The user of a request, by token, by impersonation or without credentials, and what that user may do."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.apiserver.asking import LEASES, NODES, Asking, lease
from kit.apiserver.roles import ACCOUNTS, CONFIG_MAPS, RBAC, WHOAMI, as_user, bearing, bind, grant, rule, token_for

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

ADMIN = bearing("secret")
BOT = "system:serviceaccount:default:bot"


class Guarded(Asking):
    """A client that shows the administrator's token unless a request has other headers."""

    def ok(self, method: str, path: str, obj: object = None, **query: object) -> dict[str, object]:
        headers = query.pop("headers", ADMIN)
        return super().ok(method, path, obj, headers=headers, **query)


@pytest.fixture
def guarded(sim: Simulation) -> Guarded:
    """A server with a token."""
    return Guarded(APIServer(sim.host("guarded"), token="secret"))


@pytest.mark.scenario("H-69")
@pytest.mark.parametrize(
    ("value", "status"),
    [
        pytest.param(None, 403, id="nothing"),
        pytest.param("", 403, id="empty"),
        pytest.param("Bearer", 403, id="no token"),
        pytest.param("Bearer  secret", 403, id="two spaces"),
        pytest.param("Basic secret", 403, id="another scheme"),
        pytest.param("secret", 403, id="no scheme"),
        pytest.param("Bearer wrong", 401, id="another token"),
        pytest.param("Bearer secret, Bearer wrong", 401, id="two headers"),
        pytest.param("Bearer \N{SNOWMAN}", 401, id="no ASCII"),
        pytest.param("Bearer a.b.c", 401, id="no web token"),
        pytest.param("bearer secret", 200, id="the scheme in lower case"),
        pytest.param("Bearer secret more", 200, id="more after it"),
    ],
)
def test_objects_are_for_those_with_the_token(value: str | None, status: int, guarded: Guarded) -> None:
    """Wrong credentials are 401. A client without any is `system:anonymous`, who may not read objects: 403."""
    answered, body = guarded("GET", LEASES, headers={} if value is None else {"authorization": value})

    assert answered == status
    if status == 403:
        assert body["message"].startswith(
            'leases.coordination.k8s.io is forbidden: User "system:anonymous" cannot list'
        )


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version", "/version/"])
def test_health_and_version_are_for_everyone_without_wrong_credentials(path: str, guarded: Guarded) -> None:
    assert guarded.response("GET", path).status == 200
    assert guarded.response("GET", path, headers=bearing("wrong")).status == 401


@pytest.mark.parametrize(
    "path", ["/", "/api", "/apis", "/apis/apps/v1", "/openapi/v2", "/metrics", "/nothing", "/api/v1/nothing"]
)
def test_an_anonymous_client_is_not_told_what_is_served(path: str, guarded: Guarded) -> None:
    assert guarded.response("GET", path).status == 403


def test_the_roles_of_anonymous_clients_can_be_changed(guarded: Guarded) -> None:
    grant(guarded, "system:anonymous", rule("nodes", "list"))
    guarded.ok("DELETE", f"{RBAC}/clusterrolebindings/system:public-info-viewer")

    assert guarded("GET", NODES)[0] == 200
    assert guarded.response("GET", "/version").status == 403


def test_a_server_without_a_token_takes_each_client_for_the_administrator(ask: Asking) -> None:
    assert ask("GET", NODES)[0] == 200
    assert ask("GET", NODES, headers=bearing("any"))[0] == 200
    assert ask.ok("POST", WHOAMI, {})["status"]["userInfo"]["groups"] == ["system:masters", "system:authenticated"]


def test_a_server_without_a_token_knows_its_service_accounts(ask: Asking) -> None:
    headers = bearing(token_for(ask, "bot"))

    assert ask("GET", NODES, headers=headers)[0] == 403
    assert ask("GET", NODES, headers=bearing("not.a.token"))[0] == 401


def test_an_account_may_what_it_is_bound_to_and_no_more(guarded: Guarded) -> None:
    guarded.ok("POST", ACCOUNTS, {"metadata": {"name": "bot"}})
    headers = bearing(token_for(guarded, "bot"))
    grant(guarded, BOT, rule("configmaps", "list create"), namespace="default")

    made = guarded("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, headers=headers)
    assert (made[0], guarded("GET", CONFIG_MAPS, headers=headers)[0]) == (201, 200)
    for method, path in (("GET", f"{CONFIG_MAPS}/a"), ("GET", "/api/v1/configmaps"), ("DELETE", CONFIG_MAPS)):
        assert guarded(method, path, headers=headers)[0] == 403
    assert guarded("GET", CONFIG_MAPS.replace("default", "kube-system"), headers=headers)[0] == 403


def test_a_right_is_lost_with_its_binding_or_role_at_once(guarded: Guarded) -> None:
    grant(guarded, "jane", rule("nodes", "list"))
    headers = {**ADMIN, **as_user("jane")}
    answers = [guarded("GET", NODES, headers=headers)[0]]

    role = f"{RBAC}/clusterroles/of-jane"
    guarded.ok("PUT", role, {"metadata": {"name": "of-jane"}, "rules": [rule("nodes", "get")]})
    answers.append(guarded("GET", NODES, headers=headers)[0])
    guarded.ok("PUT", role, {"metadata": {"name": "of-jane"}, "rules": [rule("nodes", "list")]})
    answers.append(guarded("GET", NODES, headers=headers)[0])
    guarded.ok("DELETE", f"{RBAC}/clusterrolebindings/jane-of-jane")
    answers.append(guarded("GET", NODES, headers=headers)[0])

    assert answers == [200, 403, 200, 403]


def test_a_refusal_names_the_roles_that_are_missing(ask: Asking) -> None:
    bind(ask, "jane", "ClusterRole", "one")
    bind(ask, "jane", "Role", "two", "default")

    everywhere = ask("GET", NODES, headers=as_user("jane"))[1]["message"]
    in_default = ask("GET", CONFIG_MAPS, headers=as_user("jane"))[1]["message"]

    text = 'clusterrole.rbac.authorization.k8s.io "one" not found'
    assert everywhere == (
        'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope: '
        f"RBAC: {text}"
    )
    assert in_default.endswith(
        f'in the namespace "default": RBAC: [{text}, role.rbac.authorization.k8s.io "two" not found]'
    )


def test_a_name_in_a_rule_narrows_lists_to_a_field_selector(ask: Asking) -> None:
    grant(ask, "jane", rule("configmaps", "list delete deletecollection", names="a"))
    for name in ("a", "b"):
        ask.ok("POST", CONFIG_MAPS, {"metadata": {"name": name}})

    def status(method: str, path: str, **query: object) -> int:
        return ask(method, path, headers=as_user("jane"), **query)[0]

    assert status("GET", CONFIG_MAPS) == 403
    assert status("GET", CONFIG_MAPS, fieldSelector="metadata.name=b") == 403
    assert status("GET", CONFIG_MAPS, fieldSelector="metadata.name=a") == 200
    assert status("DELETE", CONFIG_MAPS, fieldSelector="metadata.name=a") == 403
    listed = ask.ok("GET", CONFIG_MAPS, headers=as_user("jane"), fieldSelector="metadata.name=a,metadata.name=b")
    assert listed["items"] == []


@pytest.mark.parametrize("put", [True, False], ids=["update", "apply"])
def test_a_write_that_creates_needs_the_right_to_create(put: bool, ask: Asking) -> None:
    grant(ask, "jane", rule("leases", "update patch", "coordination.k8s.io"))
    media_type = "application/json" if put else "application/apply-patch+yaml"
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **lease("a")}

    def write() -> int:
        headers = {**as_user("jane"), "content-type": media_type}
        return ask("PUT" if put else "PATCH", f"{LEASES}/a", body, headers=headers, fieldManager="x")[0]

    assert write() == 403
    assert ask("GET", f"{LEASES}/a")[0] == 404
    ask.ok("POST", LEASES, lease("a"))
    assert write() != 403


def test_refused_requests_are_refused_before_their_body_is_read(ask: Asking) -> None:
    assert ask("POST", CONFIG_MAPS, b"no JSON", headers=as_user("jane"))[0] == 403
    assert ask("GET", LEASES, headers=as_user("jane"), limit="x")[0] == 403


def test_a_restarted_server_decides_by_the_same_roles(sim: Simulation, tmp_path: Path) -> None:
    first = Asking(APIServer(sim.host("a"), data_dir=tmp_path))
    grant(first, "jane", rule("nodes", "list"))
    first.ok("DELETE", f"{RBAC}/clusterroles/view")
    before = first.ok("GET", f"{RBAC}/clusterroles/edit")["metadata"]
    first.server.close()

    second = Asking(APIServer(sim.host("b"), data_dir=tmp_path))

    assert second("GET", NODES, headers=as_user("jane"))[0] == 200
    after = second.ok("GET", f"{RBAC}/clusterroles/edit")["metadata"]
    assert (after["uid"], after["creationTimestamp"]) == (before["uid"], before["creationTimestamp"])
    assert second("GET", f"{RBAC}/clusterroles/view")[0] == 200, "as a real server, it makes the first roles again"
    second.server.close()
