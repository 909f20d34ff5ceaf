# SPDX-License-Identifier: Apache-2.0
"""Accesses become rules, and rules accesses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.rights import Access, compared, granted_by, minimal, roles
from controller_runtime.rights.access import rules

ACCESSES = st.sets(
    st.builds(
        Access,
        st.sampled_from(["", "", "a", "b"]),
        st.sampled_from(["", "apps"]),
        st.sampled_from(["pods", "pods/status", "nodes"]),
        st.sampled_from(["get", "list", "create", "use"]),
        st.sampled_from(["", "", "x", "y"]),
        st.just(""),
    )
    | st.builds(
        Access, st.just(""), st.just(""), st.just(""), st.sampled_from(["get", "post"]), st.just(""), st.just("/m")
    ),
    max_size=12,
)


@given(accesses=ACCESSES)
def test_roles_grant_exactly_the_accesses_each_once(accesses: set[Access]) -> None:
    made = roles(accesses, "r")

    assert granted_by(made) == minimal(accesses)
    granted_once = [
        access for role in made for rule in role["rules"] for access in granted_by([{**role, "rules": [rule]}])
    ]
    assert len(granted_once) == len(set(granted_once))
    assert compared(accesses, granted_by(made)).missing == []
    assert compared(minimal(accesses), granted_by(made)).unused == []


@given(accesses=ACCESSES, order=st.randoms(use_true_random=False))
def test_roles_do_not_depend_on_the_order_of_accesses(accesses: set[Access], order: Any) -> None:
    shuffled = sorted(accesses)
    order.shuffle(shuffled)

    assert roles(shuffled, "r") == roles(sorted(accesses), "r")


def test_rules_are_few_and_ordered() -> None:
    verbs = ("watch", "delete", "get", "approve", "create")
    some = [Access("", "", resource, verb) for resource in ("pods", "nodes") for verb in verbs]
    some += [Access("", group, "events", "create") for group in ("events.k8s.io", "")]
    some += [Access("", "", "secrets", "get", name) for name in ("b", "a")]
    some += [Access("", "", "", "get", path=path) for path in ("/metrics", "/logs")]

    assert rules(some) == [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "watch", "create", "delete", "approve"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["get"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create"]},
        {"nonResourceURLs": ["/logs", "/metrics"], "verbs": ["get"]},
    ]


GET_POD = Access("a", "", "pods", "get", "x")


@pytest.mark.parametrize(
    ("grant", "covers"),
    [
        pytest.param(GET_POD, True, id="the same"),
        pytest.param(GET_POD._replace(name=""), True, id="all names"),
        pytest.param(GET_POD._replace(name="y"), False, id="another name"),
        pytest.param(GET_POD._replace(namespace=""), True, id="everywhere"),
        pytest.param(GET_POD._replace(namespace="b"), False, id="another namespace"),
        pytest.param(GET_POD._replace(verb="*", group="*", resource="*"), True, id="all of all"),
        pytest.param(GET_POD._replace(verb="list"), False, id="another verb"),
        pytest.param(GET_POD._replace(group="apps"), False, id="another group"),
        pytest.param(GET_POD._replace(resource="pods/status"), False, id="a subresource"),
        pytest.param(Access("", "", "", "get", path="*"), False, id="paths"),
    ],
)
def test_what_a_grant_covers(grant: Access, *, covers: bool) -> None:
    assert grant.covers(GET_POD) is covers


@pytest.mark.parametrize(
    ("grant", "asked", "covers"),
    [
        pytest.param(
            Access("", "", "*/scale", "get"), Access("", "", "pods/scale", "get"), True, id="a subresource of all"
        ),
        pytest.param(Access("", "", "*/scale", "get"), Access("", "", "pods/status", "get"), False, id="another one"),
        pytest.param(
            Access("", "", "", "get", path="/m/*"), Access("", "", "", "get", path="/m/x"), True, id="below a path"
        ),
        pytest.param(Access("", "", "", "get", path="/m"), Access("", "", "", "get", path="/m/x"), False, id="a path"),
    ],
)
def test_what_a_grant_with_a_star_covers(grant: Access, asked: Access, *, covers: bool) -> None:
    assert grant.covers(asked) is covers


def test_a_cluster_role_that_is_bound_in_a_namespace_grants_there() -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    role = {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [rule]}
    reference = {"kind": "ClusterRole", "name": "r"}
    here = {"kind": "RoleBinding", "metadata": {"name": "b", "namespace": "a"}, "roleRef": reference}
    everywhere = {"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": reference}

    assert granted_by([role]) == {Access("", "", "pods", "get")}
    assert granted_by([role, here]) == {Access("a", "", "pods", "get")}
    assert granted_by([role, here, everywhere]) == {Access("", "", "pods", "get")}


def test_each_difference_is_named() -> None:
    lease = Access("ops", "coordination.k8s.io", "leases", "update", "mine")
    asked = {Access("", "", "pods", "list"), lease, Access("", "", "", "get", path="/metrics")}
    granted = {Access("", "", "*", "list"), Access("", "apps", "deployments/status", "patch")}

    differences = compared(asked, granted)

    assert [str(access) for access in differences.missing] == [
        "get /metrics",
        "update leases.coordination.k8s.io mine in the namespace ops",
    ]
    assert [str(access) for access in differences.unused] == ["patch deployments.apps/status"]
