# SPDX-License-Identifier: Apache-2.0
"""Refusals: their messages and details."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_apiserver import status
from embedded_apiserver.groups.coordination.kinds import LEASE
from embedded_apiserver.groups.core.kinds import NODE
from embedded_apiserver.status import Cause, StatusError


def test_a_missing_object_is_named_with_its_group() -> None:
    assert status.not_found(LEASE, "x").body() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'leases.coordination.k8s.io "x" not found',
        "reason": "NotFound",
        "details": {"name": "x", "group": "coordination.k8s.io", "kind": "leases"},
        "code": 404,
    }


@pytest.mark.parametrize(
    ("error", "code", "reason", "message", "details"),
    [
        pytest.param(
            status.conflict(NODE, "n"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on nodes "n": the object has been modified; '
            "please apply your changes to the latest version and try again",
            {"name": "n", "kind": "nodes"},
            id="a stale write",
        ),
        pytest.param(
            status.already_exists(NODE, "n", terminating=True),
            409,
            "AlreadyExists",
            'object is being deleted: nodes "n" already exists',
            {"name": "n", "kind": "nodes"},
            id="a name still taken",
        ),
        pytest.param(
            status.too_large_version(9, 5),
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 5",
            {
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
            id="a version from the future",
        ),
        pytest.param(status.bad_request("no"), 400, "BadRequest", "no", None, id="no details"),
        pytest.param(
            status.method_not_allowed(),
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
            {},
            id="empty details",
        ),
        pytest.param(
            status.invalid(
                status.PATCH_OPTIONS, "", [Cause("FieldValueRequired", "Required value: is", "fieldManager")]
            ),
            422,
            "Invalid",
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is',
            {
                "group": "meta.k8s.io",
                "kind": "PatchOptions",
                "causes": [{"reason": "FieldValueRequired", "message": "Required value: is", "field": "fieldManager"}],
            },
            id="invalid options",
        ),
    ],
)
def test_refusals_read_as_a_real_servers(
    error: StatusError, code: int, reason: str, message: str, details: dict[str, Any] | None
) -> None:
    body = error.body()

    assert (body["code"], body["reason"], body["message"], body.get("details")) == (code, reason, message, details)


def test_an_expired_list_carries_the_token_that_goes_on_with_it() -> None:
    assert status.expired("gone", continue_="abc").body()["metadata"] == {"continue": "abc"}


def test_a_refusal_without_a_reason_has_none() -> None:
    assert "reason" not in status.untyped("odd").body()


@pytest.mark.scenario("H-72")
def test_two_faults_stand_in_brackets_and_twins_are_told_once() -> None:
    """Two errors give a bracketed message and two causes. A repeated one is a second cause, but not a second text."""
    short, long = Cause("FieldValueInvalid", "Invalid value: 0: no", "a"), Cause("FieldValueRequired", "Required", "b")

    body = status.invalid(LEASE, "x", [short, long, short]).body()

    assert body["message"] == 'Lease.coordination.k8s.io "x" is invalid: [a: Invalid value: 0: no, b: Required]'
    assert [cause["field"] for cause in body["details"]["causes"]] == ["a", "b", "a"]
