# SPDX-License-Identifier: Apache-2.0
"""Files are loaded in an order in which they can be, and a dump is such a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from apimachinery.errors import UsageError
from embedded_apiserver import KubernetesServer, run

THINGS = """\
apiVersion: example.com/v1
kind: Thing
metadata: {name: one, namespace: shop}
spec: {size: 3}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: value}}
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
"""
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
"""


@pytest.fixture
def server() -> Iterator[KubernetesServer]:
    with run(environment=False) as server:
        yield server


def test_definitions_and_namespaces_are_loaded_before_the_objects_that_need_them(
    server: KubernetesServer, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(THINGS)
    (tmp_path / "b.yaml").write_text(DEFINITION)

    stored = server.load(tmp_path / "*.yaml")

    assert [each["kind"] for each in stored] == ["Namespace", "CustomResourceDefinition", "Thing", "ConfigMap"]
    assert stored[3]["metadata"]["namespace"] == "default"
    assert not server.requests


def test_a_file_may_be_loaded_twice(server: KubernetesServer, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: value}}")
    server.load(tmp_path / "a.yaml")

    assert len(server.load(tmp_path / "a.yaml")) == 1


def test_a_dump_can_be_loaded_into_an_empty_server(server: KubernetesServer, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(THINGS)
    (tmp_path / "b.yaml").write_text(DEFINITION)
    server.load(tmp_path / "*.yaml")
    dumped = server.dump()
    (tmp_path / "dump").write_text(dumped)
    server.reset()
    assert server.dump() == ""

    server.load(tmp_path / "dump")

    assert "managedFields" not in dumped
    assert {line for line in server.dump().splitlines() if "name:" in line} == {
        line for line in dumped.splitlines() if "name:" in line
    }


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{apiVersion: v9, kind: Gadget, metadata: {name: a}}", "Gadget of v9 is not served: docs/kinds.md lists"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: A_}}", "ConfigMap A_: ConfigMap"),
        ("[1, 2]", "each document is an object with apiVersion and kind, and not [1, 2]"),
        ("a: [", "cannot be read: "),
    ],
)
def test_a_file_that_cannot_be_loaded_is_told_by_one_line(
    server: KubernetesServer, tmp_path: Path, content: str, told: str
) -> None:
    (tmp_path / "a.yaml").write_text(content)

    with pytest.raises(UsageError) as refused:
        server.load(tmp_path / "a.yaml")

    assert str(refused.value).startswith(f"{tmp_path / 'a.yaml'}: {told}")
    assert "\n" not in str(refused.value)


def test_a_pattern_without_a_file_is_refused(server: KubernetesServer) -> None:
    with pytest.raises(UsageError, match=r"no file is named 'nowhere/\*.yaml' \(from the folder "):
        server.load("nowhere/*.yaml")
