# SPDX-License-Identifier: Apache-2.0
"""The recorder reads the schemas of a source tree, and corrects what an emulating server tells otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.releases.emulated import Emulated
from tests.kit.releases.go_schemas import schemas
from tests.kit.releases.roles import rules

REF = "#/components/schemas/"
SOURCE = """
import (
	v1 "k8s.io/api/core/v1"
	resource "k8s.io/apimachinery/pkg/api/resource"
)

func GetOpenAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	return map[string]common.OpenAPIDefinition{
		"k8s.io/api/apps/v1.Shelf": schema_Shelf(ref),
		v1.Box{}.OpenAPIModelName(): schema_Box(ref),
		resource.Quantity{}.OpenAPIModelName(): schema_Quantity(ref),
	}
}

func schema_Shelf(ref common.ReferenceCallback) common.OpenAPIDefinition {
	return common.OpenAPIDefinition{
		Schema: spec.Schema{
			SchemaProps: spec.SchemaProps{
				Description: "A shelf: \\"}\\" is no end.",
				Type:        []string{"object"},
				Properties: map[string]spec.Schema{
					"boxes": {
						VendorExtensible: spec.VendorExtensible{
							Extensions: spec.Extensions{
								"x-kubernetes-list-map-keys": []interface{}{
									"name",
								},
								"x-kubernetes-list-type": "map",
							},
						},
						SchemaProps: spec.SchemaProps{
							Type: []string{"array"},
							Items: &spec.SchemaOrArray{
								Schema: &spec.Schema{
									SchemaProps: spec.SchemaProps{
										Default: map[string]interface{}{},
										Ref:     ref(v1.Box{}.OpenAPIModelName()),
									},
								},
							},
						},
					},
					"width": {
						SchemaProps: spec.SchemaProps{
							Default: 0,
							Type:    []string{"integer"},
							Format:  "int32",
						},
					},
				},
				Required: []string{"boxes"},
			},
		},
		Dependencies: []string{
			v1.Box{}.OpenAPIModelName()},
	}
}

func schema_Box(ref common.ReferenceCallback) common.OpenAPIDefinition {
	return common.OpenAPIDefinition{
		Schema: spec.Schema{
			SchemaProps: spec.SchemaProps{
				Type: []string{"object"},
				Properties: map[string]spec.Schema{
					"weight": {
						SchemaProps: spec.SchemaProps{
							Ref: ref("k8s.io/apimachinery/pkg/api/resource.Quantity"),
						},
					},
				},
			},
		},
	}
}

func schema_Quantity(ref common.ReferenceCallback) common.OpenAPIDefinition {
	return common.EmbedOpenAPIDefinitionIntoV2Extension(common.OpenAPIDefinition{
		Schema: spec.Schema{
			SchemaProps: spec.SchemaProps{
				Format: resource.Quantity{}.OpenAPISchemaFormat(),
			},
		},
	})
}
"""
SHELF, BOX = "io.k8s.api.apps.v1.Shelf", "io.k8s.api.core.v1.Box"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
EMULATED = Emulated("v1.33.5", dict(schemas(SOURCE)))


def test_the_schemas_of_a_source_tree_are_those_of_its_documents() -> None:
    assert dict(schemas(SOURCE)) == {
        SHELF: {
            "description": 'A shelf: "}" is no end.',
            "type": "object",
            "properties": {
                "boxes": {
                    "type": "array",
                    "items": {"allOf": [{"$ref": REF + BOX}], "default": {}},
                    "x-kubernetes-list-map-keys": ["name"],
                    "x-kubernetes-list-type": "map",
                },
                "width": {"default": 0, "type": "integer", "format": "int32"},
            },
            "required": ["boxes"],
        },
        BOX: {"type": "object", "properties": {"weight": {"$ref": REF + QUANTITY}}},
        QUANTITY: None,
    }


def test_definitions_of_an_emulated_release_are_its_own_with_the_types_that_they_need() -> None:
    kinds = {"x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Shelf"}]}
    newer = {SHELF: {"type": "object", **kinds}, QUANTITY: {"type": "string"}, "io.k8s.api.core.v1.Newer": {}}

    found = EMULATED.definitions(newer)

    own = EMULATED.schemas
    assert found == {SHELF: {**own[SHELF], **kinds}, BOX: own[BOX], QUANTITY: newer[QUANTITY]}


def test_the_version_of_an_emulated_release_is_that_of_its_own_binary() -> None:
    told = {"major": "1", "minor": "36", "gitVersion": "v1.36.2", "minCompatibilityMinor": "33"}

    assert EMULATED.version(told) == {
        "major": "1",
        "minor": "33",
        "gitVersion": "v1.33.5",
        "minCompatibilityMinor": "32",
    }
    assert "minCompatibilityMinor" not in EMULATED.version({"minor": "36"})


def test_an_emulated_release_does_not_know_what_later_ones_deprecate() -> None:
    told = {"a": "v1 A is deprecated in v1.33+", "b": "v1 B is deprecated in v1.34+; use C", "c": "otherwise"}

    assert EMULATED.warnings(told) == {"a": told["a"], "c": "otherwise"}


def test_an_emulated_release_does_not_describe_parameters_that_came_later() -> None:
    served = {"shardSelector": "restricts the list", "watch": "Watch for changes"}

    assert Emulated("v1.35.3", {}).parameters(served) == {"watch": "Watch for changes"}
    assert Emulated("v1.36.0", {}).parameters(served) == served


ROLES = """
items:
- kind: ClusterRole
  metadata: {creationTimestamp: null, name: system:node}
  rules: [{apiGroups: [""], resources: [events], verbs: [create]}]
- kind: ClusterRole
  metadata: {creationTimestamp: null, name: view}
  rules: null
"""
NODE, VIEW = "clusterroles.rbac.authorization.k8s.io//system:node", "clusterroles.rbac.authorization.k8s.io//view"


def test_roles_of_an_emulated_release_have_the_rules_of_its_source_tree(tmp_path: Path) -> None:
    (tmp_path / "cluster-roles.yaml").write_text(ROLES, encoding="utf-8")
    for name in ("controller-roles.yaml", "namespace-roles.yaml"):
        (tmp_path / name).write_text("items: []", encoding="utf-8")
    own = rules(tmp_path)
    newer = {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create"]}
    served = {
        NODE: {"metadata": {"name": "system:node"}, "rules": [newer]},
        VIEW: {"rules": None},
        "a//b": {"value": 1},
    }

    found = Emulated("v1.34.2", {}, own).objects(served)

    assert found == {**served, NODE: {**served[NODE], "rules": own[NODE]}}
    assert own[NODE] == [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}]


@pytest.mark.parametrize(
    ("release", "accounts", "priorities"),
    [
        ("v1.31.1", ["Name", "Secrets", "Age"], ["Name", "Value", "Global-Default", "Age"]),
        ("v1.34.2", ["Name", "Secrets", "Age"], ["Name", "Value", "Global-Default", "Age", "PreemptionPolicy"]),
        ("v1.35.3", ["Name", "Age"], ["Name", "Value", "Global-Default", "Age", "PreemptionPolicy"]),
    ],
)
def test_an_emulated_release_has_its_own_columns(release: str, accounts: list[str], priorities: list[str]) -> None:
    account, priority = "v1/ServiceAccount", "scheduling.k8s.io/v1/PriorityClass"
    served = {
        account: [{"name": "Name"}, {"name": "Age"}],
        priority: [{"name": name} for name in ("Name", "Value", "Global-Default", "Age", "PreemptionPolicy")],
    }
    own = {"io.k8s.api.core.v1.ServiceAccount": {"properties": {"secrets": {"description": "Secrets of pods."}}}}

    found = Emulated(release, own).columns(served)

    assert [one["name"] for one in found[account]] == accounts
    assert [one["name"] for one in found[priority]] == priorities
    if "Secrets" in accounts:
        assert found[account][1]["description"] == "Secrets of pods."
