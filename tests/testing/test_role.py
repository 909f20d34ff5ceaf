# SPDX-License-Identifier: Apache-2.0
"""A manager under a role: the server answers 403 to all that the role does not grant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apimachinery.errors import Forbidden, UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES, PODS, Resource
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.role import Role, acting
from embedded_apiserver.server import APIServer

CONFIG_MAPS: Resource[dict[str, Any]] = Resource("", "v1", "ConfigMap", "configmaps")
NODE_RULE = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
MAP_RULE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "create"]}
CLUSTER_ROLE = {"kind": "ClusterRole", "metadata": {"name": "mine"}, "rules": [NODE_RULE]}
LOCAL_ROLE = {"kind": "Role", "metadata": {"name": "mine", "namespace": "there"}, "rules": [MAP_RULE]}
BINDING = {
    "kind": "RoleBinding",
    "metadata": {"name": "mine", "namespace": "there"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "mine"},
    "subjects": [{"kind": "ServiceAccount", "name": "worker", "namespace": "home"}],
}


def may(client: Client, resource: Any, namespace: str = "") -> bool:
    """Return whether the client may list objects."""
    try:
        client.list(resource, namespace)
    except Forbidden:
        return False
    return True


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        pytest.param([], (False, False), id="nothing"),
        pytest.param(NODE_RULE, (True, False), id="a rule"),
        pytest.param([NODE_RULE, MAP_RULE], (True, True), id="rules"),
        pytest.param(CLUSTER_ROLE, (True, False), id="a cluster role"),
        pytest.param(LOCAL_ROLE, (False, True), id="a role in a namespace"),
        pytest.param([LOCAL_ROLE, BINDING], (False, True), id="a role with its binding"),
        pytest.param([LOCAL_ROLE, BINDING, CLUSTER_ROLE, NODE_RULE], (True, True), id="all sorts"),
    ],
)
def test_a_manager_may_what_its_role_grants(role: Role, rights: tuple[bool, bool], sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("h"), role=role) as cluster:
        found = may(cluster.client, NODES), may(cluster.client, CONFIG_MAPS, "there")
        assert found == rights
        assert not may(cluster.client, CONFIG_MAPS) or role == [NODE_RULE, MAP_RULE]
        assert may(cluster.user, PODS), "the test may do everything"


def test_a_refusal_is_the_servers_own(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("h"), role=MAP_RULE) as cluster, pytest.raises(Forbidden) as caught:
        cluster.client.get(CONFIG_MAPS, ObjectKey("a", "default"))

    assert cluster.acts_as == "system:serviceaccount:default:manager"
    text = f'User "{cluster.acts_as}" cannot get resource "configmaps" in API group "" in the namespace "default"'
    assert text in str(caught.value)


def test_the_account_is_that_of_the_bindings(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("h"), role=[LOCAL_ROLE, BINDING]) as cluster:
        assert cluster.acts_as == "system:serviceaccount:home:worker"


def test_a_file_is_read(sim: Simulation, tmp_path: Path) -> None:
    file = tmp_path / "role.yaml"
    file.write_text(
        "kind: ClusterRole\nmetadata: {name: a}\nrules: [{apiGroups: [''], resources: [nodes], verbs: [list]}]\n"
    )

    for number, role in enumerate((file, str(file), [file])):
        with EmbeddedCluster(sim.host(f"h{number}"), role=role) as cluster:
            assert (may(cluster.client, NODES), may(cluster.client, PODS)) == (True, False)


def test_two_managers_of_one_server_share_a_role(sim: Simulation) -> None:
    server = APIServer(sim.host("server"))
    clusters = [EmbeddedCluster(sim.host(name), server=server, role=CLUSTER_ROLE) for name in "ab"]

    assert [may(cluster.client, NODES) for cluster in clusters] == [True, True]
    with pytest.raises(UsageError, match="ClusterRole mine exists with other rules"):
        EmbeddedCluster(sim.host("c"), server=server, role={**CLUSTER_ROLE, "rules": [MAP_RULE]})


@pytest.mark.parametrize(
    ("role", "text"),
    [
        pytest.param({"kind": "Pod", "metadata": {"name": "a"}}, "not of {'kind': 'Pod'", id="another kind"),
        pytest.param("/nowhere.yaml", "role /nowhere.yaml cannot be read", id="no file"),
        pytest.param([BINDING, {**BINDING, "subjects": [{"kind": "ServiceAccount", "name": "x"}]}],
                     "several service accounts", id="two accounts"),
    ],
)  # fmt: skip
def test_what_is_no_role_is_refused(role: Role, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        acting(role)


def test_a_role_and_a_transport_contradict_each_other(sim: Simulation) -> None:
    host = sim.host("h")
    with pytest.raises(UsageError, match="give a transport or a role"):
        EmbeddedCluster(host, transport=InProcessTransport(host, APIServer(host)), role=NODE_RULE)


def test_a_transport_acts_as_a_user_in_groups(sim: Simulation) -> None:
    host = sim.host("h")
    server = APIServer(host)

    assert may(Client(host, InProcessTransport(host, server, user="jane", groups=["a, b", "system:masters"])), NODES)
    assert not may(Client(host, InProcessTransport(host, server, user="jane", groups=["a, system:masters"])), NODES)
    with pytest.raises(ValueError, match="name the user"):
        InProcessTransport(host, server, groups=["a"])
