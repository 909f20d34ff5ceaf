# SPDX-License-Identifier: Apache-2.0
"""Functions of typed objects fill in and check; what a class does not know stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest
from kit.crd.cabins import Cabin, CabinSpec, Door
from kit.webhooks.reviewing import admission_review, answered, operations, patched, webhooks
from kubernetes.client import V1Pod

from controller_runtime.resources import PODS, Resource
from controller_runtime.webhooks import Admission, Checks, Defaults, FieldError, User

DEFAULTS, CHECKS = "/defaults.cabins.v1.example.com", "/checks.cabins.v1.example.com"


def cabin(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "hut", "namespace": "default", "managedFields": [{"manager": "kubectl"}]}
    return {"apiVersion": "example.com/v1", "kind": "Cabin", "metadata": metadata, "spec": {"beds": 2, **spec}}


def doubled(cabin: Cabin, request: Admission[Cabin]) -> Cabin:
    return msgspec.structs.replace(cabin, spec=msgspec.structs.replace(cabin.spec, beds=cabin.spec.beds * 2))


@pytest.mark.scenario("WH-01")
def test_what_a_function_changes_is_the_patch_and_nothing_else() -> None:
    response = answered(webhooks(Defaults(Cabin, doubled)), DEFAULTS, admission_review(cabin(sauna=True)))

    assert response["allowed"] is True
    assert operations(response) == [{"op": "replace", "path": "/spec/beds", "value": 4}]


def test_an_object_that_is_returned_unchanged_has_no_patch() -> None:
    response = answered(webhooks(Defaults(Cabin, lambda cabin, _: cabin)), DEFAULTS, admission_review(cabin()))

    assert response == {"uid": response["uid"], "allowed": True}


def test_a_function_may_change_the_object_that_it_is_given() -> None:
    def fill(cabin: Cabin, request: Admission[Cabin]) -> Cabin:
        cabin.spec.heating = "gas"
        cabin.spec.tags["by"] = request.user.name
        return cabin

    before = cabin(tags={"a/b": "c"})

    response = answered(webhooks(Defaults(Cabin, fill)), DEFAULTS, admission_review(before))

    assert {each["op"] for each in operations(response)} == {"add"}
    assert patched(before, response)["spec"] == {"beds": 2, "tags": {"a/b": "c", "by": "ann"}, "heating": "gas"}


@pytest.mark.scenario("WH-02")
def test_fields_that_the_class_does_not_know_survive_inside_lists() -> None:
    def widen(cabin: Cabin, request: Admission[Cabin]) -> Cabin:
        for door in cabin.spec.doors:
            door.width += 1
        cabin.spec.doors.insert(0, Door("new"))
        return cabin

    before = cabin(doors=[{"name": "front", "color": "red"}, {"name": "back", "width": 70, "lock": {"key": 1}}])

    response = answered(webhooks(Defaults(Cabin, widen)), DEFAULTS, admission_review(before))

    assert patched(before, response)["spec"]["doors"] == [
        {"name": "new", "width": 80},
        {"name": "front", "color": "red", "width": 81},
        {"name": "back", "width": 71, "lock": {"key": 1}},
    ]


@pytest.mark.scenario("WH-02")
def test_unknown_fields_of_built_in_kinds_survive() -> None:
    def pin(pod: V1Pod, request: Admission[V1Pod]) -> V1Pod:
        assert pod.spec is not None
        pod.spec.containers[0].image_pull_policy = "Always"
        return pod

    container = {"name": "app", "image": "a", "fieldOfTomorrow": [1]}
    before = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
    before |= {"spec": {"containers": [container], "anotherOne": {"x": 1}}}

    response = answered(webhooks(Defaults(PODS, pin)), "/defaults.pods.v1.core", admission_review(before))

    assert patched(before, response) == {
        **before,
        "spec": {"containers": [{**container, "imagePullPolicy": "Always"}], "anotherOne": {"x": 1}},
    }
    assert len(operations(response)) == 1


def test_dicts_are_filled_in_as_they_are() -> None:
    maps: Resource[dict[str, Any]] = Resource("", "v1", "ConfigMap", "configmaps")

    def fill(config: dict[str, Any], request: Admission[dict[str, Any]]) -> dict[str, Any]:
        del config["data"]["a"]
        return config | {"immutable": True}

    before = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1", "b": "2"}}

    response = answered(webhooks(Defaults(maps, fill)), "/defaults.configmaps.v1.core", admission_review(before))

    assert operations(response) == [
        {"op": "remove", "path": "/data/a"},
        {"op": "add", "path": "/immutable", "value": True},
    ]


@pytest.mark.scenario("WH-03")
def test_a_refusal_is_that_of_an_invalid_object_with_its_causes() -> None:
    def refuse(cabin: Cabin, request: Admission[Cabin]) -> Iterator[FieldError | str]:
        yield "cabins are deprecated"
        yield FieldError(".spec.beds", "must be even", value=cabin.spec.beds)
        yield FieldError("spec.tags", "name the owner", reason="FieldValueRequired")

    response = answered(webhooks(Checks(Cabin, refuse)), CHECKS, admission_review(cabin(beds=3)))

    assert response["allowed"] is False
    assert response["warnings"] == ["cabins are deprecated"]
    assert response["status"] == {
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": 'Cabin.example.com "hut" is invalid: [spec.beds: Invalid value: 3: must be even, '
        "spec.tags: Required value: name the owner]",
        "details": {
            "name": "hut",
            "group": "example.com",
            "kind": "Cabin",
            "causes": [
                {"reason": "FieldValueInvalid", "message": "Invalid value: 3: must be even", "field": "spec.beds"},
                {"reason": "FieldValueRequired", "message": "Required value: name the owner", "field": "spec.tags"},
            ],
        },
    }


@pytest.mark.parametrize(
    ("found", "allowed", "warnings"),
    [
        pytest.param(None, True, None, id="nothing"),
        pytest.param([], True, None, id="an empty list"),
        pytest.param("old", True, ["old"], id="one warning"),
        pytest.param(FieldError("", "no"), False, None, id="one refusal"),
    ],
)
def test_a_check_may_return_nothing_one_finding_or_several(found: Any, allowed: bool, warnings: Any) -> None:
    response = answered(webhooks(Checks(Cabin, lambda *_: found)), CHECKS, admission_review(cabin()))

    assert (response["allowed"], response.get("warnings")) == (allowed, warnings)


def test_a_function_sees_who_asks_for_what() -> None:
    seen: list[Admission[Cabin]] = []

    def note(cabin: Cabin, request: Admission[Cabin]) -> None:
        seen.append(request)
        assert request.old is None or request.old.spec == CabinSpec(1)

    served = webhooks(Checks(Cabin, note, operations=["CREATE", "UPDATE", "DELETE"]))
    answered(served, CHECKS, admission_review(cabin(), cabin(beds=1), dryRun=True))
    answered(served, CHECKS, admission_review(None, cabin(), userInfo={"username": "bob"}))

    update, delete = seen
    assert (update.operation, update.dry_run, update.key) == ("UPDATE", True, ("hut", "default"))
    assert update.user == User("ann", "1", ("builders", "system:authenticated"))
    assert (delete.operation, delete.old, delete.user) == ("DELETE", None, User("bob"))


def test_what_a_function_does_to_the_facts_of_a_user_does_not_reach_the_next_review() -> None:
    seen: list[dict[str, Any]] = []

    def spoil(cabin: Cabin, request: Admission[Cabin]) -> None:
        seen.append(dict(request.user.extra))
        cast("dict[str, Any]", request.user.extra)["pod"] = ["q"]

    served = webhooks(Checks(Cabin, spoil))
    for facts in ({"pod": ["p"]}, {"pod": ["p"]}, {}):
        answered(served, CHECKS, admission_review(cabin(), userInfo={"username": "bob", "extra": facts}))
    for _ in range(2):
        answered(served, CHECKS, admission_review(cabin(), userInfo={"username": "bob"}))

    assert seen == [{"pod": ["p"]}, {"pod": ["p"]}, {}, {}, {}]


def test_a_stored_object_that_cannot_be_read_can_be_mended() -> None:
    def even(cabin: Cabin, request: Admission[Cabin]) -> FieldError | None:
        return FieldError("spec.beds", "odd") if cabin.spec.beds % 2 else None

    def frozen(cabin: Cabin, request: Admission[Cabin]) -> FieldError | None:
        return FieldError("spec", "frozen") if request.old and request.old.spec != cabin.spec else None

    served = webhooks(Checks(Cabin, even), Checks(Cabin, frozen, name="frozen.cabins.example.com"))
    review = admission_review(cabin(), cabin(beds="many"))

    assert answered(served, CHECKS, review)["allowed"] is True
    refused = answered(served, "/frozen.cabins.example.com", review)
    assert refused["allowed"] is False
    assert "it cannot be read: Expected int, got str at $.spec.beds" in refused["status"]["message"]


def test_an_object_that_the_class_cannot_read_is_refused_also_without_a_name() -> None:
    wrong = cabin(beds="many")
    del wrong["metadata"]["name"]

    response = answered(webhooks(Checks(Cabin, lambda *_: None)), CHECKS, admission_review(wrong))

    assert response["allowed"] is False
    assert "it cannot be read" in response["status"]["message"]
