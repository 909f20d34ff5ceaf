# SPDX-License-Identifier: Apache-2.0
"""Files of rights are read, and written so that what a person put into them stays."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from apimachinery.errors import UsageError
from controller_runtime.rights import Access, granted_by, read, write

PODS, LEASE = Access("", "", "pods", "list"), Access("ops", "coordination.k8s.io", "leases", "get", "mine")
RECORDED = """\
# Recorded by `pytest --rbac-record`. A record of an existing file replaces its rules and keeps the rest.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: cabins
rules:
  - apiGroups: [""]
    resources: [pods]
    verbs: [list]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: cabins
  namespace: ops
rules:
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [mine]
    verbs: [get]
"""
BOUND = """\
# Mine.
# It stays.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: old
  labels:
    team: a
rules:
  - apiGroups: ["*"]
    resources: ["*"]
    verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: whatever
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: old
subjects:
  - kind: ServiceAccount
    name: me
    namespace: home
"""


def test_a_new_file_has_roles_alone_in_a_fixed_form(tmp_path: Path) -> None:
    file = tmp_path / "new" / "cabins.yaml"

    assert write(file, [LEASE, PODS])
    assert file.read_text(encoding="utf-8") == RECORDED
    assert not write(file, [PODS, LEASE]), "unchanged"
    assert granted_by(read(file)) == {PODS, LEASE}


def test_the_rules_of_a_file_are_replaced_and_all_else_stays(tmp_path: Path) -> None:
    file = tmp_path / "cabins.yaml"
    file.write_text(BOUND, encoding="utf-8")

    write(file, [PODS])

    wanted = BOUND.replace(
        '["*"]\n    resources: ["*"]\n    verbs: ["*"]', '[""]\n    resources: [pods]\n    verbs: [list]'
    )
    assert file.read_text(encoding="utf-8") == wanted
    assert [role["metadata"]["name"] for role in read(file)] == ["old"], "without the binding"


def test_a_new_role_is_bound_as_the_others_are_and_one_without_rules_goes(tmp_path: Path) -> None:
    file = tmp_path / "cabins.yaml"
    file.write_text(BOUND, encoding="utf-8")

    write(file, [LEASE])

    role, binding = yaml.safe_load_all(file.read_text(encoding="utf-8"))
    assert (role["kind"], role["metadata"]) == ("Role", {"name": "old", "namespace": "ops"})
    assert (binding["kind"], binding["metadata"]) == ("RoleBinding", {"name": "old", "namespace": "ops"})
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "old"}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "me", "namespace": "home"}]


ROLE = "{kind: ClusterRole, metadata: {name: a}, rules: %s}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a: [b", "is not YAML: ", id="not YAML"),
        pytest.param("nonsense", "it holds 'nonsense', which is not an object", id="no object"),
        pytest.param("kind: Deployment", "an object of the kind Deployment: only Role, ", id="another kind"),
        pytest.param("kind: ClusterRole", "a ClusterRole has no metadata.name", id="no name"),
        pytest.param("{kind: Role, metadata: {name: a}}", "the Role a has no metadata.namespace", id="no namespace"),
        pytest.param(ROLE % "[{resources: [pods]}]", "a rule of the ClusterRole a lacks verbs", id="no verbs"),
        pytest.param(ROLE % "[{verbs: get}]", "one of its fields is not a list of strings", id="not a list"),
        pytest.param(ROLE % "{verbs: [get]}", "a rule of the ClusterRole a lacks verbs", id="rules are no list"),
        pytest.param("{kind: ClusterRoleBinding, metadata: {name: a}}", "has no roleRef with a kind", id="no roleRef"),
    ],
)
def test_a_file_that_is_none_of_rights_is_refused_in_one_line(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text, encoding="utf-8")

    for use in (read, lambda path: write(path, [PODS])):
        with pytest.raises(UsageError) as caught:
            use(file)
        assert problem in str(caught.value)
        assert "\n" not in str(caught.value)
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("use", [read, lambda path: write(path, [PODS])], ids=["read", "write"])
def test_what_cannot_be_opened_is_named(use: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the rights (of|cannot be written to) .*: Is a directory"):
        use(tmp_path)  # type: ignore[operator]
