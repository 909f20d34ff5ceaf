# SPDX-License-Identifier: Apache-2.0
"""Definitions that are made of classes, and how a server takes them."""

from __future__ import annotations

from typing import Any

import pytest
from kit.crd.cabins import Cabin, CabinSpec, CabinV1Alpha1, Lodge

from controller_runtime import ObjectKey
from controller_runtime.crd import (
    DEFINITIONS,
    Column,
    CustomResource,
    Rule,
    Scale,
    Struct,
    custom_resource,
    definition,
    resource_of,
    schema_of,
)
from controller_runtime.resources import Resource
from controller_runtime.testing import EmbeddedCluster


def test_a_definition_has_the_names_of_its_kind() -> None:
    made = definition(Cabin)

    assert made["metadata"] == {"name": "cabins.example.com"}
    assert {name: made["spec"][name] for name in ("group", "scope", "names")} == {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {
            "kind": "Cabin",
            "listKind": "CabinList",
            "plural": "cabins",
            "singular": "cabin",
            "shortNames": ["cb"],
        },
    }


def test_a_definition_belongs_to_its_caller() -> None:
    made = definition(Cabin)
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].clear()

    assert definition(Cabin)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema_of(Cabin) != {}


def test_a_version_has_what_its_class_declares() -> None:
    [version] = definition(Lodge)["spec"]["versions"]

    assert version["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    assert version["selectableFields"] == [{"jsonPath": ".spec.color"}]
    assert version["additionalPrinterColumns"] == [
        {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
        {"name": "Since", "type": "date", "jsonPath": ".spec.opened"},
    ]


def test_several_classes_are_versions_of_one_definition() -> None:
    made = definition(CabinV1Alpha1, Cabin, storage=Cabin)

    versions = made["spec"]["versions"]
    assert [(one["name"], one["storage"], one["served"]) for one in versions] == [
        ("v1alpha1", False, True),
        ("v1", True, True),
    ]
    assert (versions[0]["deprecated"], versions[0]["deprecationWarning"]) == (True, "use example.com/v1")
    assert made["spec"]["names"]["shortNames"] == ["cb"]


@pytest.mark.parametrize("classes", [(Cabin,), (Cabin, CabinV1Alpha1), (Lodge,)])
def test_a_server_accepts_the_definition_without_a_fault(cluster: EmbeddedCluster, classes: Any) -> None:
    made = definition(*classes)

    cluster.user.create(DEFINITIONS, made)

    read = cluster.user.get(DEFINITIONS, ObjectKey(made["metadata"]["name"]))
    conditions = {one["type"]: one["status"] for one in read["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}


@pytest.mark.parametrize(
    ("classes", "storage", "message"),
    [
        ((), None, "a definition needs a class"),
        ((Cabin, Lodge), None, "Lodge and Cabin differ in group, kind, plural or scope"),
        ((Cabin, Cabin), None, "Cabin and Cabin are both version v1"),
        ((Cabin,), CabinV1Alpha1, "CabinV1Alpha1 is not among the versions: Cabin"),
    ],
)
def test_classes_that_are_no_versions_of_one_kind_are_refused(classes: Any, storage: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        definition(*classes, storage=storage)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"Bets": ".spec.bets"}}, r"column Bets: \.spec\.bets names 'bets', which \.spec does not have"),
        ({"columns": {"Beds": "spec.beds"}}, r"column Beds: 'spec.beds' is not a path: write it as \.spec\.field"),
        ({"columns": [Column(name="X", path=".spec.doors[0].nam")]}, "names 'nam', which .spec.doors.0. does not have"),
        ({"selectable": [".spec.size"]}, "selectable: .spec.size names 'size'"),
        ({"scale": Scale()}, "scale: .spec.replicas names 'replicas'"),
        ({"scale": Scale(spec=".spec.heating", status=".spec.beds")}, "scale: .spec.heating is of type string"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_where_it_is_declared(options: Any, message: str) -> None:
    class Local(CustomResource):
        spec: CabinSpec

    # The annotation is a text here, and is resolved among the names of the module.
    with pytest.raises(ValueError, match=message):
        custom_resource("example.com/v1", **options)(Local)


@pytest.mark.parametrize("path", [".metadata.labels.a\\.b/c", ".metadata.creationTimestamp", ".spec.tags.any"])
def test_columns_can_show_metadata_and_maps(path: str) -> None:
    class Local(CustomResource):
        spec: CabinSpec

    assert custom_resource("example.com/v1", columns={"Shown": path})(Local) is Local


def test_a_class_that_is_no_custom_resource_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="CabinSpec must be derived from CustomResource"):
        custom_resource("example.com/v1")(CabinSpec)  # type: ignore[type-var]
    with pytest.raises(ValueError, match=r"api_version 'v1' must be like example\.com/v1"):
        custom_resource("v1")(Cabin)
    with pytest.raises(TypeError, match=r"write @custom_resource\('example\.com/v1'\) above Cabin"):
        custom_resource(Cabin)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "plural"), [("Box", "boxes"), ("Policy", "policies"), ("Gateway", "gateways"), ("Class", "classes")]
)
def test_plurals_are_those_of_english(kind: str, plural: str) -> None:
    class Local(CustomResource):
        pass

    assert resource_of(custom_resource("example.com/v1", kind=kind)(Local)).plural == plural


def test_a_declared_class_knows_its_resource() -> None:
    assert resource_of(Cabin) == Resource("example.com", "v1", "Cabin", "cabins")
    assert resource_of(Cabin).default_view() is Cabin
    assert (Cabin.kind, Cabin.api_version) == ("Cabin", "example.com/v1")
    assert (CabinV1Alpha1.kind, resource_of(Lodge).namespaced) == ("Cabin", False)


class Undeclared(Cabin):
    """A view of a cabin."""


@pytest.mark.parametrize("kind", [Undeclared, Struct, dict, "cabins"])
def test_a_class_that_is_not_declared_is_no_kind(kind: Any) -> None:
    with pytest.raises(TypeError, match="is not a kind: give a Resource, or a class declared with @custom_resource"):
        resource_of(kind)


def test_a_rule_needs_a_condition() -> None:
    with pytest.raises(ValueError, match="a rule needs a condition in CEL"):
        Rule(" ")


def test_a_rule_is_carried_with_all_that_it_says() -> None:
    rule = Rule("self.a", "text", field_path=".a", reason="FieldValueForbidden", optional_old_self=True)

    assert rule.body() == {
        "rule": "self.a",
        "message": "text",
        "fieldPath": ".a",
        "reason": "FieldValueForbidden",
        "optionalOldSelf": True,
    }
