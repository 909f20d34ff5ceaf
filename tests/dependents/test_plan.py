# SPDX-License-Identifier: Apache-2.0
"""The decisions about owned objects, as tables and properties."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.owning import deployment_of, pages_of

from apimachinery.objects import cached_from_bytes
from controller_runtime import Cached, ObjectKey, Owned, Progress
from controller_runtime.api.resources import PODS, Resource
from controller_runtime.client.bodies import encoded
from controller_runtime.dependents.memory import PrimaryMemory, Record, RefusedApply, identity_of, values_of
from controller_runtime.dependents.owned import Wanted, wanted_of
from controller_runtime.dependents.plan import (
    ABSENT,
    Apply,
    DependentState,
    Seen,
    decide,
    has_drifted,
    in_order,
    judge,
    may_delete,
    unwanted,
)
from controller_runtime.dependents.refusals import is_refusal
from controller_runtime.dependents.summary import applied, problem_of
from controller_runtime.errors import (
    APIError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    UsageError,
)
from controller_runtime.resources import CONFIG_MAPS, DEPLOYMENTS

SITES: Resource[Any] = Resource("example.com", "v1", "Site", "sites")
UID = "11"
OWNER = {"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "s", "namespace": "d", "uid": UID}}
OWNED = Owned[Any, Any](CONFIG_MAPS, lambda site: {"metadata": {"name": "m"}, "data": {"a": "1"}})
[WANTED] = wanted_of([OWNED], OWNER, SITES)
OURS = [{"manager": "us", "operation": "Apply"}]


def present(version: str = "5", **metadata: Any) -> Cached:
    body = {**WANTED.body, "metadata": {**WANTED.body["metadata"], "uid": "u", "resourceVersion": version, **metadata}}
    return cached_from_bytes(encoded(body))


def record(cached: Cached) -> Record:
    return Record(WANTED.digest, cached.uid, cached.resource_version, values_of(WANTED.body, cached), 0, None)


def refusal(cached: Cached | None, digest: bytes = WANTED.digest) -> RefusedApply:
    return RefusedApply(digest, identity_of(WANTED.body, cached), "no", 1, 10.0)


def verdict(seen: Seen, now: float = 0.0) -> Any:
    found = judge(WANTED, seen, uid=UID, field_manager="us", now=now)
    return dict(found.precondition) if isinstance(found, Apply) else found.progress


OTHER = [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "9", "controller": True}]
UPDATE = {"uid": "u"}


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(Seen(None), ABSENT, id="absent"),
        pytest.param(Seen(None, record(present())), ABSENT, id="deleted"),
        pytest.param(Seen(present()), UPDATE, id="after a start"),
        pytest.param(Seen(present(), record(present())), Progress.READY, id="as applied"),
        pytest.param(Seen(present("9", labels={"x": "y"}), record(present())), Progress.READY, id="other fields"),
        pytest.param(
            Seen(present("9", ownerReferences=[], managedFields=OURS), record(present())), UPDATE, id="orphan"
        ),
        pytest.param(Seen(present("9", uid="v"), record(present())), {"uid": "v"}, id="made again by another"),
        pytest.param(Seen(present(ownerReferences=OTHER)), Progress.NOT_OWNED, id="of another controller"),
        pytest.param(Seen(present(ownerReferences=[])), Progress.NOT_OWNED, id="of no controller"),
        pytest.param(Seen(present(deletionTimestamp="t"), record(present())), Progress.NOT_READY, id="ending"),
        pytest.param(Seen(None, refusal=refusal(None)), Progress.REFUSED, id="refused"),
        pytest.param(Seen(present(), refusal=refusal(None)), UPDATE, id="refused when it was absent"),
        pytest.param(Seen(None, refusal=refusal(None, b"")), ABSENT, id="another wish refused"),
    ],
)
def test_what_is_seen_decides_the_apply(seen: Seen, expected: Any) -> None:
    assert verdict(seen) == expected


def test_a_refused_object_is_tried_again_in_time() -> None:
    seen = Seen(None, refusal=refusal(None))
    assert verdict(seen, 9.9) is Progress.REFUSED
    assert verdict(seen, 10.0) == ABSENT


json = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
bodies = st.dictionaries(st.sampled_from("abc"), json, max_size=3)


def seen_as(body: dict[str, Any], version: str) -> Cached:
    return cached_from_bytes(encoded({**body, "metadata": {"name": "m", "uid": "u", "resourceVersion": version}}))


@given(desired=bodies, defaults=bodies, status=bodies, touched=bodies)
def test_only_changes_of_applied_fields_are_drift(
    desired: dict[str, Any], defaults: dict[str, Any], status: dict[str, Any], touched: dict[str, Any]
) -> None:
    """The server may add whatever it likes to the answer; later changes elsewhere count for nothing."""
    wanted = Wanted(OWNED, ObjectKey("m"), desired, b"digest")
    answer = {**defaults, **desired}
    memory = Record(b"digest", "u", "5", values_of(desired, seen_as(answer, "5")), 0, None)

    assert not has_drifted(wanted, memory, seen_as({**answer, "status": status}, "6"))
    changed = {**answer, **{name: value for name, value in touched.items() if name in desired}}
    # Compared as JSON: an empty object that is wanted has no fields whose values could change.
    is_other = any(
        projected(desired[name], changed[name]) != projected(desired[name], answer[name]) for name in desired
    )
    assert has_drifted(wanted, memory, seen_as(changed, "6")) is is_other


def projected(wanted: Any, value: Any) -> Any:
    if isinstance(wanted, dict) and isinstance(value, dict):
        return {name: projected(each, value.get(name)) for name, each in wanted.items()}
    return [value]


def test_declarations_are_ordered_by_what_they_come_after() -> None:
    a, b = Owned[Any, Any](CONFIG_MAPS, pages_of), Owned[Any, Any](DEPLOYMENTS, deployment_of)
    c = Owned[Any, Any](PODS, lambda site: None, after=[a, b])
    d = Owned[Any, Any](CONFIG_MAPS, pages_of, after=c)

    assert in_order([d, c, b, a], SITES) == [b, a, c, d]
    with pytest.raises(UsageError, match=r"the Owned of pods comes after one of configmaps that is not given"):
        in_order([c, b], SITES)
    with pytest.raises(UsageError, match="each once"):
        in_order([a, a], SITES)
    with pytest.raises(UsageError, match="at least one"):
        in_order([], SITES)


def test_an_object_waits_for_all_that_come_before_it() -> None:
    first = Owned[Any, Any](CONFIG_MAPS, lambda site: [{"metadata": {"name": name}} for name in "ab"])
    second = Owned[Any, Any](PODS, lambda site: {}, after=first)
    wanted = wanted_of([first, second], OWNER, SITES)

    plan = decide(wanted, {each.id: Seen(None) for each in wanted}, uid=UID, field_manager="us", now=0.0)

    assert [write.wanted.key.name for write in plan.applies] == ["a", "b"]
    assert [str(state) for state in plan.states] == [
        "ConfigMap d/a: is being applied",
        "ConfigMap d/b: is being applied",
        "Pod d/s: waits for ConfigMap d/a",
    ]


@pytest.mark.parametrize(
    ("present", "shown"),
    [
        pytest.param({"a": "1", "defaulted": "x"}, "Pod d/s: is not ready", id="as wanted"),
        pytest.param({"a": "2"}, "Pod d/s: waits for ConfigMap d/a", id="changed"),
        pytest.param({"a": ["1"]}, "Pod d/s: waits for ConfigMap d/a", id="of another type"),
        pytest.param({}, "Pod d/s: waits for ConfigMap d/a", id="without the field"),
    ],
)
def test_an_object_that_a_former_manager_applied_is_judged_by_itself_while_it_waits(
    present: dict[str, Any], shown: str
) -> None:
    first = Owned[Any, Any](CONFIG_MAPS, lambda site: [{"metadata": {"name": "a"}}])
    pod = {"spec": {"a": "1", "containers": [{"name": "c"}]}}
    second = Owned[Any, Any](PODS, lambda site: pod, after=first, ready=lambda pod: False)
    before, waiting = wanted_of([first, second], OWNER, SITES)
    server = {**waiting.body, "spec": {**pod["spec"], **present, "containers": [{"name": "c", "image": "i"}]}}
    if not present:
        del server["spec"]["a"]
    server["metadata"] = {**waiting.body["metadata"], "uid": "u", "resourceVersion": "5"}
    seen = {before.id: Seen(None), waiting.id: Seen(cached_from_bytes(encoded(server)))}

    plan = decide([before, waiting], seen, uid=UID, field_manager="us", now=0.0)

    assert [write.wanted.key.name for write in plan.applies] == ["a"]
    assert str(plan.states[1]) == shown


def state(progress: Progress, name: str = "m", retry_at: float | None = None) -> DependentState:
    return DependentState(OWNED, ObjectKey(name, "d"), progress, progress.value.lower(), retry_at=retry_at)


@pytest.mark.parametrize(
    ("states", "deleted"),
    [
        ([], ["m"]),
        ([state(Progress.READY)], []),
        ([state(Progress.READY, "other")], ["m"]),
        ([state(Progress.NOT_READY, "other")], ["m"]),
        ([state(Progress.REFUSED, "other")], []),
        ([state(Progress.WAITING, "other")], []),
        ([state(Progress.NOT_OWNED, "other")], []),
    ],
)
def test_what_is_not_wanted_goes_when_all_that_is_wanted_is_applied(
    states: list[DependentState], deleted: list[str]
) -> None:
    assert [each.name for each in unwanted([present()], CONFIG_MAPS, states, PrimaryMemory(UID))] == deleted
    assert unwanted([present(deletionTimestamp="t")], CONFIG_MAPS, states, PrimaryMemory(UID)) == []
    assert unwanted([present()], CONFIG_MAPS, states, PrimaryMemory(UID, deleted={"u"})) == []
    assert unwanted([present()], CONFIG_MAPS, states, PrimaryMemory(UID, not_ours={"u"})) == []


@pytest.mark.parametrize(
    ("metadata", "may"),
    [
        ({"managedFields": OURS}, True),
        ({}, False),
        ({"managedFields": [{"manager": "us", "operation": "Update"}]}, False),
        ({"managedFields": [{"manager": "them", "operation": "Apply"}]}, False),
        ({"managedFields": OURS, "ownerReferences": OTHER}, False),
        ({"managedFields": OURS, "ownerReferences": []}, False),
    ],
)
def test_only_what_its_owner_controls_and_we_have_applied_is_deleted(metadata: dict[str, Any], may: bool) -> None:
    assert may_delete(present(**metadata), uid=UID, field_manager="us") is may


CONFLICT = {"causes": [{"reason": "FieldManagerConflict", "field": ".data.a"}]}
OTHER_UID = {"causes": [{"reason": "FieldValueInvalid", "field": "metadata.uid"}]}


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (Invalid("", code=422), True),
        (Invalid("", code=422, details=OTHER_UID), False),
        (Conflict("", code=409), False),
        (Conflict("", code=409, details=CONFLICT), True),
        (Forbidden("", code=403), True),
        (NotFound("", code=404), True),
        (APIError("", code=413), True),
        (TooManyRequests("", code=429), False),
        (Unauthorized("", code=401), False),
        (ServerError("", code=500), False),
    ],
)
def test_only_refusals_of_the_object_itself_are_refusals(error: APIError, is_one: bool) -> None:
    assert is_refusal(error) is is_one


def test_the_condition_names_the_gravest_first_and_not_too_many() -> None:
    assert problem_of([]) == ("Ready", "0 objects are ready")
    states = [state(Progress.WAITING, "w"), state(Progress.NOT_READY, "n"), state(Progress.REFUSED, "r")]
    reason, message = problem_of([state(Progress.READY), *states])
    assert reason == "Refused"
    assert message == "ConfigMap d/r: refused; ConfigMap d/n: notready; ConfigMap d/w: waiting"
    assert problem_of([state(Progress.NOT_READY)] * 7)[1].endswith("; and 2 more")


def test_the_result_looks_again_at_the_earliest_time() -> None:
    found = applied([state(Progress.REFUSED, retry_at=30.0), state(Progress.NOT_OWNED, retry_at=25.0)], 20.0)
    assert (found.result.requeue_after, found.is_ready) == (5.0, False)
    assert applied([state(Progress.READY)], 20.0).result.requeue_after is None
