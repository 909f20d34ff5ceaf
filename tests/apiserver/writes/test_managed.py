# SPDX-License-Identifier: Apache-2.0
"""The owners of fields after a create, an update and a patch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from embedded_apiserver.groups.coordination.kinds import LEASE
from embedded_apiserver.groups.core.kinds import NODE
from embedded_apiserver.typed.fieldset import decode
from embedded_apiserver.writes.entries import entries_of, with_entries
from embedded_apiserver.writes.managed import Writer, created, updated

Object = dict[str, Any]

T0 = datetime(2026, 1, 1, tzinfo=UTC)
A, B = Writer("a"), Writer("b")


def lease(labels: dict[str, str] | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": "x", "labels": labels} if labels else {"name": "x"}, "spec": spec}


def made(obj: Object, writer: Writer = A) -> Object:
    """Return `obj` in the form in which it is stored after `writer` created it."""
    return with_entries(obj, created(LEASE, obj, writer, T0))


def written(old: Object, new: Object, writer: Writer, *, after: float = 1.0, sent: Any = None) -> Any:
    """Return `new` in the form in which it is stored after `writer` replaced `old` with it, some seconds later."""
    new = with_entries(new, entries_of(old))
    claimed = {} if sent is None else {"managedFields": sent}
    request = {**new, "metadata": {**new["metadata"], "managedFields": None, **claimed}}
    return updated(LEASE, old, new, request, writer, T0 + timedelta(seconds=after))


def owners(obj: Object) -> dict[str, list[str]]:
    """Return the fields of each manager, without their first step."""
    return {
        entry["manager"]: sorted("/".join(path[1:]) for path in decode(entry["fieldsV1"])) for entry in entries_of(obj)
    }


def times(obj: Object) -> dict[str, str]:
    return {entry["manager"]: entry["time"][17:19] for entry in entries_of(obj)}


def test_its_creator_owns_all_that_an_object_says() -> None:
    obj = made(lease({"l": "1"}, holderIdentity="h"))

    assert owners(obj) == {"a": ["f:holderIdentity", "f:labels", "f:labels/f:l"]}


def test_an_object_that_says_nothing_has_no_owner_and_none_comes_by_updates() -> None:
    bare = made(lease())

    assert entries_of(written(bare, lease(holderIdentity="h"), B)) == entries_of(bare) == ()


def test_a_change_takes_the_field_from_its_owner_and_an_addition_is_shared_with_nobody() -> None:
    old = made(lease(holderIdentity="h", leaseDurationSeconds=9))

    new = written(old, lease(holderIdentity="i", leaseDurationSeconds=9, leaseTransitions=1), B)

    assert owners(new) == {"a": ["f:leaseDurationSeconds"], "b": ["f:holderIdentity", "f:leaseTransitions"]}


def test_what_is_removed_is_lost_by_all_and_an_empty_entry_vanishes() -> None:
    old = made(lease({"l": "1"}))

    assert owners(written(old, lease(), B)) == {}


def test_the_time_of_an_entry_moves_with_a_value_and_not_with_a_removal() -> None:
    old = made(lease({"l": "1"}, holderIdentity="h"))
    renewed = written(old, lease({"l": "1"}, holderIdentity="i"), A, after=5)
    trimmed = written(renewed, lease(holderIdentity="i"), A, after=9)

    assert [times(obj) for obj in (old, renewed, trimmed)] == [{"a": "00"}, {"a": "05"}, {"a": "05"}]


def test_each_door_has_an_entry_of_its_own() -> None:
    status = Writer("a", subresource="status")
    obj = {"metadata": {"name": "n", "labels": {"l": "1"}}, "status": {}}
    old = with_entries(obj, created(NODE, obj, A, T0))
    new = {**old, "status": {"phase": "Running"}}

    entries = entries_of(updated(NODE, old, new, {**new, "metadata": obj["metadata"]}, status, T0))

    assert [entry.get("subresource") for entry in entries] == [None, "status"]


def test_entries_are_not_set_through_the_door_of_a_part() -> None:
    old = with_entries(obj := {"metadata": {"labels": {"l": "1"}}, "spec": {}}, created(NODE, obj, A, T0))
    sent = {**obj, "metadata": {**obj["metadata"], "managedFields": [{**entries_of(old)[0], "manager": "other"}]}}

    assert updated(NODE, old, old, sent, Writer("a", subresource="status"), T0) == old


@pytest.mark.parametrize(
    ("operation", "is_own"), [pytest.param("Update", False, id="updater"), pytest.param("Apply", True, id="applier")]
)
def test_an_updater_has_an_entry_for_each_version_and_an_applier_one_in_all(operation: str, is_own: bool) -> None:
    writer = Writer("a", operation)
    entry = {**writer.entry(LEASE, frozenset(), T0), "apiVersion": "coordination.k8s.io/v1beta1"}

    assert writer.owns(LEASE, entry) is is_own


def test_more_than_ten_updaters_become_ancient_changes() -> None:
    """Beyond ten update entries the two oldest are merged, and the result has the later of their times."""
    obj = made(lease(holderIdentity="h"), Writer("m00"))
    for number in range(1, 14):
        labels = {f"l{index}": "1" for index in range(1, number + 1)}
        obj = written(obj, lease(labels, holderIdentity="h"), Writer(f"m{number:02}"), after=number)

    ancient, *others = entries_of(obj)
    assert (ancient["manager"], ancient["time"][17:19], len(others)) == ("ancient-changes", "04", 9)
    assert ("f:spec", "f:holderIdentity") in decode(ancient["fieldsV1"])
    assert [entry["manager"] for entry in others] == [f"m{number:02}" for number in range(5, 14)]


@pytest.mark.parametrize("sent", [pytest.param([], id="no entry"), pytest.param([{}], id="an empty entry")])
def test_a_client_may_clear_the_entries(sent: list[Any]) -> None:
    old = made(lease(holderIdentity="h"))

    assert "managedFields" not in written(old, lease(holderIdentity="h"), B, sent=sent)["metadata"]


def test_a_client_may_set_entries_and_owns_what_it_changes_beside_them() -> None:
    old = made(lease(holderIdentity="h", leaseDurationSeconds=9))
    theirs = [{**entries_of(old)[0], "manager": "other"}]

    new = written(old, lease(holderIdentity="i", leaseDurationSeconds=9), B, sent=theirs)

    assert owners(new) == {"other": ["f:leaseDurationSeconds"], "b": ["f:holderIdentity"]}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"operation": "Delete"}, id="operation"),
        pytest.param({"apiVersion": ""}, id="version"),
        pytest.param({"fieldsType": "FieldsV2"}, id="type"),
        pytest.param({"fieldsV1": {"spec": {}}}, id="fields"),
    ],
)
def test_entries_that_make_no_sense_are_ignored(change: dict[str, Any]) -> None:
    old = made(lease(holderIdentity="h"))

    new = written(old, lease(holderIdentity="h"), B, sent=[{**entries_of(old)[0], **change}])

    assert new == old


def test_other_times_alone_are_no_change() -> None:
    old = made(lease(holderIdentity="h"))

    new = written(old, lease(holderIdentity="h"), B, sent=[{**entries_of(old)[0], "time": "2020-01-01T00:00:00Z"}])

    assert new == old


def test_an_entry_that_keeps_its_fields_is_not_written_anew() -> None:
    old = made(lease(holderIdentity="h", leaseDurationSeconds=9))

    new = written(old, lease(holderIdentity="i", leaseDurationSeconds=9), A)

    assert entries_of(new)[0]["fieldsV1"] is entries_of(old)[0]["fieldsV1"]
