# SPDX-License-Identifier: Apache-2.0
"""The comparison itself: what is drawn from a seed, what counts as a difference, and what does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from differential.classify import differences
from differential.generate import PROFILES, sequence
from differential.normal import Memory, Normal, normal
from differential.operations import REMOVED, Operation, edited
from differential.run import SKIPPED, main
from differential.servers import Answer

GET = Operation(method="GET", target="/api/v1/namespaces/{ns}/configmaps/a")
OBJECT = {"kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}, "data": {"a": "b"}}


def refused(code: int, message: str = "no", **details: Any) -> Normal:
    body = {"kind": "Status", "message": message, "reason": f"R{code}", "details": details, "code": code}
    return Normal(code, {}, body)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_seed_decides_every_request(profile: str) -> None:
    first, again, other = (sequence(seed, profile) for seed in (7, 7, 8))

    assert first == again
    assert first != other


@pytest.mark.parametrize("profile", PROFILES)
def test_a_request_survives_its_way_through_a_file(profile: str) -> None:
    operations = sequence(3, profile)

    assert [Operation.from_json(json.loads(json.dumps(one.to_json()))) for one in operations] == operations


@pytest.mark.parametrize(
    ("ours", "real", "classes"),
    [
        pytest.param(Normal(200, {}, OBJECT), Normal(200, {}, OBJECT), [], id="equal"),
        pytest.param(Normal(200, {}, OBJECT), refused(422), ["1a"], id="accepts more"),
        pytest.param(refused(422), Normal(200, {}, OBJECT), ["1b"], id="refuses more"),
        pytest.param(
            Normal(200, {}, OBJECT), Normal(200, {}, {**OBJECT, "data": {}}), ["1c"], id="stores other things"
        ),
        pytest.param(refused(409), refused(422), ["2a"], id="another code"),
        pytest.param(refused(409, name="a"), refused(409), ["2b"], id="other details"),
        pytest.param(refused(409, "x"), refused(409, "y"), ["2c"], id="another text"),
        pytest.param(refused(400, "x"), refused(400, "json: cannot unmarshal"), ["doc"], id="a decoding error"),
        pytest.param(refused(404, "404 page not found"), Normal(200, {}, OBJECT), ["3"], id="not served"),
        pytest.param(Normal(200, {"warning": ["w"]}, OBJECT), Normal(200, {}, OBJECT), ["2c"], id="a warning more"),
    ],
)
def test_each_difference_has_its_class(ours: Normal, real: Normal, classes: list[str]) -> None:
    assert [one.number for one in differences(GET, ours, real)] == classes


def test_two_runs_of_one_server_are_equal_once_they_are_normalised() -> None:
    found = []
    for namespace, uid, version, time in (("n1", "1" * 8, "17", "2026-01-01"), ("n2", "2" * 8, "99", "2027-02-03")):
        metadata = {
            "name": "a",
            "namespace": namespace,
            "uid": f"{uid}-0000-4000-8000-000000000000",
            "resourceVersion": version,
            "creationTimestamp": f"{time}T00:00:00Z",
        }
        body = json.dumps({"kind": "ConfigMap", "metadata": metadata}).encode()
        found.append(normal(Answer(200, {}, body), GET, Memory(namespace)))

    assert found[0] == found[1]


def test_an_edit_sets_or_removes_one_place() -> None:
    edits = ((("a", "b"), 1), (("c", 0), "x"), (("d",), REMOVED))

    assert edited({"c": ["y", "z"], "d": 1}, edits) == {"a": {"b": 1}, "c": ["x", "z"]}


def test_without_a_real_server_the_comparison_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REAL_KUBECONFIG", raising=False)

    assert main([]) == 0
    assert capsys.readouterr().out.strip() == SKIPPED
