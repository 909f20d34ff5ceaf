# SPDX-License-Identifier: Apache-2.0
"""Schemas as shipped: types, references, merge keys."""

from __future__ import annotations

import pytest

from apimachinery.schema import Library, Schema, schema_for


def at(kind: str, path: str, group: str = "", version: str = "v1") -> Schema:
    """Return the schema at a dotted path of a kind; `[]` stands for the elements of a list."""
    schema = schema_for(group, version, kind)
    assert schema is not None
    for step in path.split("."):
        child = schema.items if step == "[]" else schema.properties.get(step) or schema.additional
        assert child is not None, step
        schema = child
    return schema


@pytest.mark.parametrize(
    ("kind", "path", "merge_key", "strategies"),
    [
        pytest.param("Node", "status.conditions", "type", ("merge",), id="conditions of a node"),
        pytest.param("Node", "status.addresses", "type", ("merge",), id="addresses of a node"),
        pytest.param("Node", "spec.taints", "", (), id="taints are one value"),
        pytest.param("Node", "spec.podCIDRs", "", ("merge",), id="ranges are a set"),
        pytest.param("Node", "status.images", "", (), id="images are one value"),
        pytest.param("Pod", "status.podIPs", "ip", ("merge",), id="addresses of a pod"),
        pytest.param("Pod", "spec.containers", "name", ("merge",), id="containers"),
        pytest.param("Pod", "spec.volumes", "name", ("merge", "retainKeys"), id="volumes keep only one source"),
        pytest.param("Pod", "spec.tolerations", "", (), id="tolerations are one value"),
        pytest.param("Node", "metadata.ownerReferences", "uid", ("merge",), id="owners"),
        pytest.param("Node", "metadata.finalizers", "", ("merge",), id="finalizers are a set"),
        pytest.param("Namespace", "status.conditions", "type", ("merge",), id="conditions of a namespace"),
    ],
)
def test_lists_know_how_they_are_merged(kind: str, path: str, merge_key: str, strategies: tuple[str, ...]) -> None:
    schema = at(kind, path)

    assert (schema.merge_key, schema.strategies) == (merge_key, strategies)


def test_references_are_followed_and_named() -> None:
    renew_time = at("Lease", "spec.renewTime", "coordination.k8s.io")

    assert (renew_time.name, renew_time.type) == ("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "string")
    assert at("Lease", "spec.leaseDurationSeconds", "coordination.k8s.io").format == "int32"
    assert at("Node", "spec.taints.[]").required == ("key", "effect")
    assert at("Node", "status.capacity.cpu").name == "io.k8s.apimachinery.pkg.api.resource.Quantity"
    assert at("Node", "status").default == {}


def test_a_definition_that_contains_itself_can_be_walked_to_any_depth() -> None:
    definitions = {"tree": {"type": "object", "properties": {"left": {"$ref": "#/components/schemas/tree"}}}}
    tree = Schema({"$ref": "#/components/schemas/tree"}, Library(definitions))

    for _ in range(100):
        tree = tree.properties["left"]

    assert tree.name == "tree"


def test_kinds_that_were_not_recorded_have_no_schema() -> None:
    assert schema_for("", "v1", "Nothing") is None
    assert schema_for("coordination.k8s.io", "v2", "Lease") is None
