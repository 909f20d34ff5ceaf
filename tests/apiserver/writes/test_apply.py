# SPDX-License-Identifier: Apache-2.0
"""Server-side apply as a pure function: ownership, conflicts, and the removal of fields."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import assume, given
from kit.apiserver.configurations import CONFIGURATIONS, said

from embedded_apiserver.groups.coordination.kinds import LEASE
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.status import StatusError
from embedded_apiserver.typed.fieldset import Fields, decode, text_of
from embedded_apiserver.writes import apply
from embedded_apiserver.writes.entries import APPLY, entries_of, with_entries
from embedded_apiserver.writes.managed import Writer, created

Config = dict[str, Any]

T0 = datetime(2026, 1, 1, tzinfo=UTC)
ONE, TWO = Writer("one", APPLY), Writer("two", APPLY)


def first(config: Config, writer: Writer = ONE) -> Config:
    """Return the object that is created by applying `config`."""
    result = apply.apply_first(POD, config, writer, T0)
    return with_entries(result.obj, result.entries)


def then(live: Config, config: Config, writer: Writer, *, force: bool = False) -> Config:
    """Return `live` after `config` is applied to it."""
    result = apply.apply(POD, live, config, writer, force=force, now=T0)
    return with_entries(result.obj, result.entries)


def owned(obj: Config, writer: Writer) -> Fields:
    mine = (entry for entry in entries_of(obj) if entry["manager"] == writer.manager)
    return frozenset().union(*(decode(entry["fieldsV1"]) for entry in mine))


def values(obj: Config) -> Config:
    """Return the object without its managedFields."""
    return with_entries(obj, ())


def conflicts(live: Config, config: Config) -> set[str]:
    """Return the fields that are in conflict when `config` is applied."""
    try:
        then(live, config, TWO)
    except StatusError as error:
        return {cause["field"] for cause in (error.details or {})["causes"]}
    return set()


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_applying_the_same_again_changes_nothing(before: Config, config: Config) -> None:
    once = then(first(before), config, TWO, force=True)

    assert then(once, config, TWO) == once


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_a_manager_owns_exactly_what_it_applied(before: Config, config: Config) -> None:
    obj = then(first(before, TWO), config, TWO)

    assert owned(obj, TWO) == said(config)


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_managers_of_different_fields_do_not_conflict(one: Config, two: Config) -> None:
    assume(not said(one) & said(two))

    obj = then(first(one), two, TWO)

    assert (owned(obj, ONE), owned(obj, TWO)) == (said(one), said(two))


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_what_only_its_manager_owned_goes_when_it_is_no_longer_applied(one: Config, two: Config) -> None:
    both = then(first(one), two, TWO, force=True)

    obj = then(both, {"metadata": {}}, TWO)

    assert owned(obj, TWO) == frozenset()
    assert said(values(obj)) & (said(two) - said(one)) <= {("f:spec",), ("f:spec", "f:securityContext")}


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_force_takes_what_is_in_conflict_and_nothing_else(one: Config, two: Config) -> None:
    live = first(one)

    lost = owned(live, ONE) - owned(then(live, two, TWO, force=True), ONE)

    assert {text_of(path) for path in lost} == conflicts(live, two)


@given(CONFIGURATIONS)
def test_equal_values_are_owned_together_and_stay_while_one_applies_them(config: Config) -> None:
    shared = then(first(config), config, TWO)
    left = then(shared, {"metadata": {}}, ONE)

    assert (owned(shared, ONE), owned(shared, TWO)) == (said(config), said(config))
    assert values(left) == values(shared)


@pytest.mark.parametrize(
    ("updater", "title"),
    [
        pytest.param(Writer("u"), '"u" using v1', id="updater"),
        pytest.param(Writer("u", subresource="status"), '"u" with subresource "status" using v1', id="subresource"),
        pytest.param(Writer("u", APPLY), '"u"', id="applier"),
    ],
)
def test_a_conflict_names_the_owner_and_the_field(updater: Writer, title: str) -> None:
    live: Config = {"metadata": {"labels": {"a": "1", "b": "1"}}}
    live = with_entries(live, created(POD, live, updater, T0))

    with pytest.raises(StatusError) as refused:
        then(live, {"metadata": {"labels": {"a": "2"}}}, ONE)

    assert refused.value.code == 409
    assert refused.value.message == f"Apply failed with 1 conflict: conflict with {title}: .metadata.labels.a"
    assert refused.value.details == {
        "causes": [
            {"reason": "FieldManagerConflict", "message": f"conflict with {title}", "field": ".metadata.labels.a"}
        ]
    }


def test_conflicts_are_listed_by_manager() -> None:
    live = then(first({"metadata": {"labels": {"a": "1", "b": "1"}}}, TWO), {"metadata": {"labels": {"c": "1"}}}, ONE)

    with pytest.raises(StatusError) as refused:
        then(live, {"metadata": {"labels": {"a": "2", "b": "2", "c": "2"}}}, Writer("three", APPLY))

    assert refused.value.message == (
        'Apply failed with 3 conflicts: conflicts with "one":\n- .metadata.labels.c\n'
        'conflicts with "two":\n- .metadata.labels.a\n- .metadata.labels.b'
    )


def test_an_object_nobody_owned_was_there_before_the_first_apply() -> None:
    live = {"metadata": {"labels": {"a": "1"}}}

    obj = then(live, {"metadata": {"labels": {"b": "1"}}}, ONE)

    assert [entry["manager"] for entry in entries_of(obj)] == ["one", "before-first-apply"]


def body(**parts: Any) -> bytes:
    return json.dumps({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **parts}).encode()


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        pytest.param(body(kind="Pod"), 400, "invalid object type: coordination.k8s.io/v1, Kind=Pod", id="kind"),
        pytest.param(body(apiVersion="v1"), 400, "invalid object type: /v1, Kind=Lease", id="version"),
        pytest.param(b"kind: Lease", 400, "invalid object type: /, Kind=Lease", id="no version"),
        pytest.param(
            body(metadata={"managedFields": []}), 400, "metadata.managedFields must be nil", id="managedFields"
        ),
        pytest.param(
            body(spec={"x": 1}),
            500,
            "failed to create typed patch object (/; coordination.k8s.io/v1, Kind=Lease): "
            ".spec.x: field not declared in schema",
            id="unknown field",
        ),
        pytest.param(
            body(spec={"leaseDurationSeconds": "1"}),
            500,
            "failed to create typed patch object (/; coordination.k8s.io/v1, Kind=Lease): "
            ".spec.leaseDurationSeconds: expected numeric (int or float), got string",
            id="wrong type",
        ),
        pytest.param(
            body(metadata={"name": "l", "namespace": "n"}, spec={"renewTime": "now"}),
            500,
            "failed to convert new object (n/l; coordination.k8s.io/v1, Kind=Lease) to proper version: unable to "
            'convert unstructured object to coordination.k8s.io/v1, Kind=Lease: parsing time "now" as '
            '"2006-01-02T15:04:05.000000Z07:00": cannot parse "now" as "2006"',
            id="no time",
        ),
    ],
)
def test_what_is_no_configuration_is_refused(content: bytes, code: int, message: str) -> None:
    with pytest.raises(StatusError) as refused:
        apply.read(LEASE, content, "")

    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(body(metadata={"name": "x"}, spec={}), id="JSON"),
        pytest.param(b"apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: x\nspec: {}\n", id="YAML"),
    ],
)
def test_a_configuration_may_be_json_or_yaml_and_null_says_nothing(content: bytes) -> None:
    config, warnings = apply.read(LEASE, content, "")

    assert (config, warnings) == ({"metadata": {"name": "x"}, "spec": {}}, [])


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({"containers": [{"name": "c", "x": 1}]}, '.spec.containers[name="c"].x', id="key"),
        pytest.param(
            {"containers": [{"name": "c", "ports": [{"containerPort": 80, "x": 1}]}]},
            '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].x',
            id="keys, one by default",
        ),
        pytest.param({"tolerations": [{"x": 1}]}, ".spec.tolerations[0].x", id="no keys"),
        pytest.param({"containers": [{"name": "c", "x": [{"y": 1}]}]}, '.spec.containers[name="c"].x', id="a list"),
    ],
)
def test_an_unknown_field_is_found_by_the_keys_above_it(spec: dict[str, Any], path: str) -> None:
    content = json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": spec}).encode()

    with pytest.raises(StatusError) as refused:
        apply.read(POD, content, "")

    assert refused.value.message.endswith(f"Kind=Pod): {path}: field not declared in schema")
