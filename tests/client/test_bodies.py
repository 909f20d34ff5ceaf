# SPDX-License-Identifier: Apache-2.0
"""Bodies are written as an API server accepts them, for every type of input."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.client import V1Lease, V1LeaseSpec, V1ObjectMeta

from controller_runtime.client.bodies import encoded, mapping_of

TEN = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


class Spec(msgspec.Struct, rename="camel"):
    renew_time: datetime


class Lease(msgspec.Struct, omit_defaults=True):
    metadata: dict[str, str]
    spec: Spec | None = None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"metadata": {"name": "a"}, "spec": {"renewTime": TEN}}, id="dict"),
        pytest.param(V1Lease(metadata=V1ObjectMeta(name="a"), spec=V1LeaseSpec(renew_time=TEN)), id="official model"),
        pytest.param(Lease({"name": "a"}, Spec(TEN)), id="struct"),
        pytest.param({"metadata": V1ObjectMeta(name="a"), "spec": Spec(TEN)}, id="a mixture"),
    ],
)
def test_every_form_is_written_with_wire_names_and_six_digits(body: object) -> None:
    written = json.loads(encoded(body))

    assert written == {"metadata": {"name": "a"}, "spec": {"renewTime": "2026-11-20T10:00:00.000000Z"}}


@given(st.datetimes(timezones=st.timezones() | st.just(timezone(timedelta(hours=-3)))))
def test_every_instant_is_the_same_one_in_utc(instant: datetime) -> None:
    try:
        expected = instant.astimezone(UTC)
    except OverflowError:
        return

    text = json.loads(encoded([instant]))[0]

    assert datetime.fromisoformat(text) == expected
    assert len(text) == 27
    assert text.endswith("Z")


@pytest.mark.parametrize(
    ("body", "error", "told"),
    [
        pytest.param({"at": datetime(2026, 1, 1)}, ValueError, "no time zone", id="naive instant"),
        pytest.param({"x": object()}, TypeError, "a object cannot be written as JSON", id="anything"),
        pytest.param({"x": float("nan")}, ValueError, "JSON", id="not a number"),
    ],
)
def test_what_has_no_form_on_the_wire_is_refused(body: object, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        encoded(body)


def test_nulls_are_kept_for_they_remove_fields_in_a_patch() -> None:
    assert encoded({"metadata": {"labels": {"a": None}}}) == b'{"metadata":{"labels":{"a":null}}}'


def test_a_mapping_is_the_callers_own() -> None:
    body = {"metadata": {}}

    mapping_of(body)["kind"] = "Node"

    assert body == {"metadata": {}}


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(TypeError):
        mapping_of([1])  # type: ignore[arg-type]
