# SPDX-License-Identifier: Apache-2.0
"""Rights are read from files of roles, and compared with what the program watches."""

from __future__ import annotations

from pathlib import Path

import pytest

from apimachinery.errors import UsageError
from apimachinery.system import SystemHost
from controller_runtime import Controller, Manager, Reconciler, Request, Result
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manifests.facts import WatchedCollection, facts_of, unconnected_manager
from controller_runtime.manifests.rights import Rights, read_rights, require_watches
from controller_runtime.resources import NODES, PODS

RBAC = "apiVersion: rbac.authorization.k8s.io/v1\n"
CLUSTER = (
    RBAC + "kind: ClusterRole\nmetadata: {name: a}\nrules: [{apiGroups: [''], resources: [nodes], verbs: [get]}]\n"
)
ROLE = (
    RBAC
    + "kind: Role\nmetadata: {name: a, namespace: home}\n"
    + "rules: [{apiGroups: [''], resources: [pods], verbs: [list]}]\n"
)
BINDING = RBAC + "kind: RoleBinding\nmetadata: {name: a, namespace: home}\nroleRef: {kind: Role, name: a}\n"


class Nothing(Reconciler):
    def reconcile(self, request: Request) -> Result:
        return Result()


def test_roles_of_several_files_are_one_set_of_rights(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(f"# first\n---\n{CLUSTER}---\n{BINDING}---\n{ROLE}")
    two.write_text(CLUSTER + "---\n" + ROLE.replace("namespace: home", "namespace: huts"))

    rights = read_rights([one, two])

    pods = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    assert rights == Rights(
        [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}], {"home": pods, "huts": pods}
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "has no Role or ClusterRole: record one with `pytest --rbac-record FILE`"),
        (BINDING, "has no Role or ClusterRole"),
        ("kind: Pod\nmetadata: {name: a}\n", "is not a file of rights: it holds an object of the kind Pod"),
        ("- a\n", "is not a file of rights: it holds"),
        ("a: [", "is not YAML: while parsing"),
        (CLUSTER + "aggregationRule: {clusterRoleSelectors: []}\n", "a aggregates other roles: write its rules out"),
    ],
)
def test_a_file_that_is_no_record_is_one_clear_error(tmp_path: Path, text: str, error: str) -> None:
    file = tmp_path / "rights.yaml"
    file.write_text(text)

    with pytest.raises(UsageError, match=error.replace("(", r"\(")):
        read_rights([file])


def test_a_file_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the rights of .*rights\.yaml cannot be read: .*No such file"):
        read_rights([tmp_path / "rights.yaml"])


LIST, WATCH = ({"apiGroups": [""], "resources": ["pods"], "verbs": [verb]} for verb in ("list", "watch"))
NAMED = {**WATCH, "resourceNames": ["a"]}


@pytest.mark.parametrize(
    ("rights", "namespace", "missing"),
    [
        (Rights([LIST, WATCH]), "", ""),
        (Rights([LIST, WATCH]), "huts", ""),
        (Rights([LIST]), "", "watch pods"),
        (Rights([LIST, NAMED]), "", "watch pods"),
        (Rights([], {"huts": [LIST, WATCH]}), "huts", ""),
        (Rights([], {"": [LIST, WATCH]}), "home", ""),
        (Rights([], {"": [LIST, WATCH]}), "huts", "list pods in huts, watch pods in huts"),
        (Rights([], {"huts": [LIST, WATCH]}), "", "list pods, watch pods"),
        (Rights([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]), "", ""),
    ],
)
def test_a_record_that_is_older_than_the_program_is_refused(rights: Rights, namespace: str, missing: str) -> None:
    watched = [WatchedCollection("", "pods", namespace)]
    if not missing:
        require_watches(rights, watched, "home")
        return
    with pytest.raises(UsageError, match=f"the rights lack {missing}, with which the program fills its caches"):
        require_watches(rights, watched, "home")


def test_the_facts_are_what_a_setup_function_did() -> None:
    manager = unconnected_manager(SystemHost(), namespace="huts", lease=LeaderElectionConfig(name="x", namespace="y"))
    manager.lister(PODS)
    manager.add(Controller("nothing", Nothing()).watch(NODES).watch(PODS))

    facts = facts_of(manager, namespace="huts")

    assert manager.elector is not None
    assert facts.definitions == []
    assert facts.watched == [WatchedCollection("", "nodes", ""), WatchedCollection("", "pods", "huts")]


def test_a_setup_that_asks_the_server_is_refused() -> None:
    def setup(manager: Manager) -> None:
        manager.client.list(NODES)

    with pytest.raises(
        UsageError, match=r"setup asks the server \(GET /api/v1/nodes\), and manifests are made without"
    ):
        setup(unconnected_manager(SystemHost()))
