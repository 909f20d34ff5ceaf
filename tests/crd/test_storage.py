# SPDX-License-Identifier: Apache-2.0
"""A migration is planned from a definition, and refused where it could lose something."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from kit.crd.cabins import Cabin, CabinV1Alpha1

from apimachinery.errors import UsageError
from controller_runtime.crd import definition
from controller_runtime.crd.storage import ANNOTATION, note_of, plan_storage, resumed_after

INTEGER = {"type": "integer"}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def defined(
    old: dict[str, Any] | None = None,
    new: dict[str, Any] | None = None,
    *,
    stored: tuple[str, ...] = ("v1alpha1", "v1"),
    served: tuple[str, ...] = ("v1alpha1", "v1"),
    strategy: str = "None",
    established: str = "True",
) -> dict[str, Any]:
    """Returns a definition with two versions, of which v1 is the storage version."""
    made = copy.deepcopy(definition(Cabin, CabinV1Alpha1))
    made["metadata"]["generation"] = 3
    made["spec"]["conversion"] = {"strategy": strategy}
    schemas = {"v1": fields(spec=new or fields()), "v1alpha1": fields(spec=old or fields())}
    for version in made["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": schemas[version["name"]]}
        version["served"] = version["name"] in served
    made["status"] = {
        "storedVersions": list(stored),
        "conditions": [{"type": "Established", "status": established}],
    }
    return made


def test_older_versions_are_pruned_through_the_storage_version() -> None:
    plan = plan_storage(defined())

    assert (plan.storage, plan.pruned, plan.generation) == ("v1", ["v1alpha1"], 3)
    assert plan.resource.path("default") == "/apis/example.com/v1/namespaces/default/cabins"


def test_a_storage_version_that_is_not_served_is_written_through_another() -> None:
    plan = plan_storage(defined(served=("v1alpha1",)))

    assert (plan.storage, plan.resource.version) == ("v1", "v1alpha1")


def test_a_stored_version_that_is_no_longer_served_can_be_migrated() -> None:
    assert plan_storage(defined(served=("v1",))).pruned == ["v1alpha1"]


@pytest.mark.parametrize("stored", [("v1",), ()])
def test_there_is_nothing_to_do_if_all_is_stored_in_the_storage_version(stored: tuple[str, ...]) -> None:
    assert plan_storage(defined(stored=stored)).pruned == []


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (defined(stored=("v0", "v1")), r"stored as v0, which the definition no longer has: .* add that version to"),
        (defined(served=()), "has no version that is served, so its objects cannot be written: serve one"),
        (defined(established="False"), "is not established, or is being deleted"),
    ],
)
def test_a_definition_whose_objects_cannot_be_rewritten_is_refused(made: dict[str, Any], error: str) -> None:
    with pytest.raises(UsageError, match=rf"cabins\.example\.com .*{error}"):
        plan_storage(made)


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        (fields(beds=INTEGER), fields(beds=INTEGER, more=INTEGER), ""),
        (fields(bunks=INTEGER), fields(beds=INTEGER), ".spec.bunks"),
        (fields(a=fields(b=INTEGER)), fields(a=fields()), ".spec.a.b"),
        (
            fields(a={"type": "array", "items": fields(b=INTEGER)}),
            fields(a={"type": "array", "items": fields()}),
            ".spec.a[].b",
        ),
        (fields(a=INTEGER), OPEN, ""),
        (OPEN, fields(a=INTEGER), ".spec (any fields)"),
        (fields(a=INTEGER), {"type": "object", "additionalProperties": INTEGER}, ""),
        ({"type": "object", "additionalProperties": INTEGER}, fields(a=INTEGER), ".spec[…]"),
        (
            {"type": "object", "additionalProperties": fields(b=INTEGER)},
            {"type": "object", "additionalProperties": fields()},
            ".spec[…].b",
        ),
    ],
)
def test_fields_that_nothing_converts_are_not_removed_unasked(
    old: dict[str, Any], new: dict[str, Any], lost: str
) -> None:
    for strategy, accept_loss in (("None", True), ("Webhook", False)):
        assert plan_storage(defined(old, new, strategy=strategy), accept_loss=accept_loss).pruned == ["v1alpha1"]
    if not lost:
        assert plan_storage(defined(old, new)).pruned == ["v1alpha1"]
        return
    with pytest.raises(UsageError) as refused:
        plan_storage(defined(old, new))
    assert str(refused.value) == (
        f"cabins.example.com: v1alpha1 has {lost}, which v1 has not, and no webhook converts them: rewriting would "
        "remove them from the stored objects; give --accept-loss if that is meant"
    )


def test_a_note_is_continued_as_long_as_the_definition_is_the_same() -> None:
    made = defined()
    plan = plan_storage(made)
    assert resumed_after(plan, made) is None

    made["metadata"]["annotations"] = {ANNOTATION: note_of(plan, ("default", "hut"))}
    assert resumed_after(plan, made) == ("default", "hut")

    made["metadata"]["generation"] += 1
    assert resumed_after(plan_storage(made), made) is None


@pytest.mark.parametrize("note", ["", "[]", "7", '{"after": "a"}', '{"after": ["a"]}', "{"])
def test_a_note_that_cannot_be_read_is_none(note: str) -> None:
    made = defined()
    made["metadata"]["annotations"] = {ANNOTATION: note}

    assert resumed_after(plan_storage(made), made) is None
