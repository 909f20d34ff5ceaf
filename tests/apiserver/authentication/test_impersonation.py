# SPDX-License-Identifier: Apache-2.0
"""Acting as another user: how it is asked for, who may, and which user comes of it."""

from __future__ import annotations

import pytest
from kit.apiserver.asking import NODES, Asking
from kit.apiserver.roles import WHOAMI, as_user, bearing, grant, rule, token_for

from apimachinery.http import VALUE_SEPARATOR

BOT = "system:serviceaccount:default:bot"
GROUP = "authentication.k8s.io"


def who(ask: Asking, headers: dict[str, str]) -> dict[str, object]:
    info: dict[str, object] = ask.ok("POST", WHOAMI, {}, headers=headers)["status"]["userInfo"]
    return info


@pytest.mark.parametrize(
    ("headers", "groups"),
    [
        pytest.param(as_user("jane"), ["system:authenticated"], id="a user"),
        pytest.param(as_user("jane", group="a"), ["a", "system:authenticated"], id="a group"),
        pytest.param(
            as_user("jane", group=f"a{VALUE_SEPARATOR}b, c"), ["a", "b, c", "system:authenticated"], id="groups"
        ),
        pytest.param(as_user(BOT), ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
                     id="an account"),
        pytest.param(as_user(BOT, group="a"), ["a", "system:authenticated"], id="an account in other groups"),
        pytest.param(as_user("system:serviceaccount:a:b:c"), ["system:authenticated"], id="no account"),
        pytest.param(as_user("system:node:n"), ["system:nodes", "system:authenticated"], id="a node"),
        pytest.param(
            as_user("system:anonymous", group="system:authenticated"),
            ["system:authenticated", "system:unauthenticated"], id="anonymous"
        ),
    ],
)  # fmt: skip
def test_a_user_has_the_groups_of_its_sort(headers: dict[str, str], groups: list[str], ask: Asking) -> None:
    assert who(ask, headers)["groups"] == groups


def test_uid_and_extra_facts_are_taken_over(ask: Asking) -> None:
    headers = as_user("jane", uid="u", **{"extra-acme.com%2fproject": f"a{VALUE_SEPARATOR}b"})

    assert who(ask, headers) == {
        "username": "jane", "uid": "u", "groups": ["system:authenticated"], "extra": {"acme.com/project": ["a", "b"]},
    }  # fmt: skip


@pytest.mark.parametrize("part", ["group", "uid", "extra-scopes"])
def test_more_than_a_name_needs_a_name(part: str, ask: Asking) -> None:
    status, body = ask("GET", NODES, headers={f"impersonate-{part}": "x"})

    assert (status, body["reason"]) == (400, "BadRequest")
    assert body["message"].startswith('requested &user.DefaultInfo{Name:"", ')


def test_an_empty_name_asks_for_nothing(ask: Asking) -> None:
    assert ask("GET", NODES, headers=as_user(""))[0] == 200


@pytest.mark.parametrize("path", [NODES, "/version", "/nothing"])
def test_it_needs_a_right_whatever_the_other_user_may(path: str, ask: Asking) -> None:
    """The refusal names the right of Kubernetes 1.36: to impersonate for this verb."""
    headers = bearing(token_for(ask, "bot"))

    for name, mode in (("admin", "user-info"), (BOT, "serviceaccount"), ("system:node:n", "arbitrary-node")):
        status, body = ask("GET", path, headers={**headers, **as_user(name)})
        verb = "list" if path == NODES else "get"
        assert status == 403
        assert f'User "{BOT}" cannot impersonate-on:{mode}:{verb} ' in body["message"]


def test_the_older_right_is_for_each_part_of_the_user(ask: Asking) -> None:
    headers = bearing(token_for(ask, "bot"))
    name, group = rule("users", "impersonate", names="jane"), rule("groups", "impersonate", names="dev")
    uid, extra = rule("uids", "impersonate", GROUP, "u"), rule("userextras/scopes", "impersonate", GROUP, "view")
    grant(ask, BOT, name, group, uid, extra)

    assert (
        who(ask, {**headers, **as_user("jane", group="dev", uid="u", **{"extra-scopes": "view"})})["username"] == "jane"
    )
    for other in (
        as_user("jo"),
        as_user(BOT),
        as_user("jane", group="system:masters"),
        as_user("jane", group=f"dev{VALUE_SEPARATOR}system:masters"),
        as_user("jane", uid="v"),
        as_user("jane", **{"extra-scopes": "edit"}),
        as_user("jane", **{"extra-other": "view"}),
    ):
        assert ask("POST", WHOAMI, {}, headers={**headers, **other})[0] == 403


def test_the_constrained_right_is_for_the_user_and_the_request(ask: Asking) -> None:
    headers = {**bearing(token_for(ask, "bot")), **as_user("jane")}
    grant(ask, "jane", rule("nodes", "list get"))
    grant(ask, BOT, rule("nodes", "impersonate-on:user-info:list"), rule("users", "impersonate:user-info", GROUP))

    assert ask("GET", NODES, headers=headers)[0] == 200
    assert ask("GET", f"{NODES}/n", headers=headers)[0] == 403
    assert ask("GET", NODES, headers={**headers, "impersonate-group": "system:masters"})[0] == 403


def test_an_account_of_a_pod_may_be_allowed_its_own_node_alone(ask: Asking) -> None:
    ask.ok("POST", NODES, {"metadata": {"name": "n"}})
    token_for(ask, "bot")
    pod = {"metadata": {"name": "p"}, "spec": {"serviceAccountName": "bot", "nodeName": "n", "containers": []}}
    pod["spec"]["containers"] = [{"name": "c", "image": "i"}]
    ask.ok("POST", "/api/v1/namespaces/default/pods", pod)
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    headers = bearing(token_for(ask, "bot", {"boundObjectRef": reference}))
    grant(ask, BOT, rule("nodes", "impersonate-on:associated-node:list"),
          rule("nodes", "impersonate:associated-node", GROUP, "*"))  # fmt: skip

    own = ask("GET", NODES, headers={**headers, **as_user("system:node:n")})[1]["message"]
    other = ask("GET", NODES, headers={**headers, **as_user("system:node:m")})[1]["message"]

    assert own.startswith('nodes is forbidden: User "system:node:n" cannot list')
    assert f'User "{BOT}" cannot impersonate-on:arbitrary-node:list' in other
