# SPDX-License-Identifier: Apache-2.0
"""Bad requests get one clear answer each, and a function that fails is found in the log."""

from __future__ import annotations

import re
from typing import Any

import pytest
from kit.crd.cabins import Cabin
from kit.webhooks.reviewing import admission_review, answered, conversion_review, post, shown, webhooks

from controller_runtime.core.deadline import reconcile_deadline
from controller_runtime.errors import UsageError
from controller_runtime.transports import HTTPRequest
from controller_runtime.webhooks import Checks, Defaults
from controller_runtime.webhooks.handler import REVIEW_LIMIT, timeout_of

CHECKS = "/checks.cabins.v1.example.com"
HUT = {"apiVersion": "example.com/v1", "kind": "Cabin", "metadata": {"name": "hut"}, "spec": {"beds": 1}}
REVIEW = admission_review(HUT)
BETA = {**REVIEW, "apiVersion": "admission.k8s.io/v1beta1"}


def of(**changed: Any) -> dict[str, Any]:
    return {**REVIEW, "request": {**REVIEW["request"], **changed}}


@pytest.mark.scenario("WH-06")
@pytest.mark.parametrize(
    ("request_", "status", "text"),
    [
        pytest.param(post("/other", REVIEW), 404, "no webhook is served at /other", id="another path"),
        pytest.param(post("/convert", REVIEW), 404, "no webhook is served at /convert", id="no conversions"),
        pytest.param(HTTPRequest("GET", CHECKS), 405, "reviews are sent by POST", id="GET"),
        pytest.param(post(CHECKS, b""), 400, "not an AdmissionReview: Input data was truncated", id="empty"),
        pytest.param(post(CHECKS, b"\xff\xfe"), 400, "not an AdmissionReview: JSON is malformed", id="no JSON"),
        pytest.param(
            post(CHECKS, b"[" * 100_000), 400, "not an AdmissionReview: Expected object, got array", id="deep"
        ),
        pytest.param(post(CHECKS, b'{"request":' * 50_000), 400, "not an AdmissionReview: ", id="deeper"),
        pytest.param(post(CHECKS, 3), 400, "not an AdmissionReview: Expected object, got int", id="a number"),
        pytest.param(
            post(CHECKS, {}), 400, "expected admission.k8s.io/v1 AdmissionReview, got an object without", id="an object"
        ),
        pytest.param(
            post(CHECKS, BETA),
            400,
            "expected admission.k8s.io/v1 AdmissionReview, got admission.k8s.io/v1beta1 AdmissionReview",
            id="another version",
        ),
        pytest.param(
            post(CHECKS, conversion_review("example.com/v1")), 400, "got apiextensions.k8s.io/v1", id="another review"
        ),
        pytest.param(post(CHECKS, {**REVIEW, "request": None}), 400, "has no request", id="an answer"),
        pytest.param(post(CHECKS, of(uid="")), 400, "request.uid is empty", id="no uid"),
        pytest.param(
            post(CHECKS, of(userInfo={"username": 3})),
            400,
            "Expected str, got int at $.userInfo.username",
            id="no user",
        ),
        pytest.param(post(CHECKS, of(userInfo=None)), 400, "Expected object, got null", id="a user that is null"),
        pytest.param(post(CHECKS, of(kind=None)), 400, "Expected object, got null at $.kind", id="no kind"),
        pytest.param(
            post(CHECKS, of(kind={"group": "", "version": "v1", "kind": "Pod"})),
            400,
            "checks.cabins.v1.example.com is for Cabin of example.com/v1, got Pod of v1",
            id="another kind",
        ),
        pytest.param(post(CHECKS, of(operation="CONNECT")), 400, "got operation 'CONNECT'", id="another operation"),
        pytest.param(post(CHECKS, of(object=None)), 400, "has no object", id="no object"),
        pytest.param(
            post(CHECKS, b"x" * (REVIEW_LIMIT + 1)), 413, f"the review has more than {REVIEW_LIMIT} bytes", id="large"
        ),
        pytest.param(
            HTTPRequest("POST", CHECKS, (), {"content-type": "application/yaml"}), 415, "reviews are JSON", id="YAML"
        ),
    ],
)
def test_what_is_no_review_of_this_webhook_gets_one_clear_answer(request_: HTTPRequest, status: int, text: str) -> None:
    code, said = shown(webhooks(Checks(Cabin, lambda *_: None)).handle(request_))

    assert (code, said.count("\n")) == (status, 1)
    assert text in said


def test_an_object_of_three_megabytes_is_answered() -> None:
    large = {**HUT, "metadata": {"name": "hut", "annotations": {"a": "x" * 3_000_000}}}

    response = answered(webhooks(Checks(Cabin, lambda *_: None)), CHECKS, admission_review(large, large))

    assert response["allowed"] is True


@pytest.mark.scenario("WH-07")
@pytest.mark.parametrize(
    ("found", "logged"),
    [
        pytest.param(KeyError("the password"), "KeyError: 'the password'", id="a bug"),
        pytest.param(UsageError("not configured"), "not configured", id="an error of ours"),
    ],
)
def test_a_function_that_raises_answers_500_with_an_id_that_the_log_has(
    found: Exception, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise found

    code, said = shown(webhooks(Checks(Cabin, fail)).handle(post(CHECKS, REVIEW)))

    name = re.search(r"id=([0-9a-f]{8})", said)
    assert code == 500
    assert name is not None
    assert str(found) not in said
    assert name[1] in caplog.text
    assert logged in caplog.text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        pytest.param(None, "returned None: return the object", id="nothing"),
        pytest.param(object(), "", id="something else"),
    ],
)
def test_a_function_that_fills_in_nothing_is_a_failure(
    result: Any, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    code, _ = shown(
        webhooks(Defaults(Cabin, lambda *_: result)).handle(post("/defaults.cabins.v1.example.com", REVIEW))
    )

    assert code == 500
    assert text in caplog.text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("500ms", 0.5), ("1m30s", 30), ("2.5s", 2.5), ("", 7), ("soon", 7), ("0s", 7), ("1h", 7)],
)
def test_the_time_of_a_review_is_what_its_server_waits(text: str, seconds: float) -> None:
    assert timeout_of(text, 7) == seconds


def test_requests_of_a_function_end_with_the_time_of_the_review() -> None:
    seen: list[float] = []

    def note(*_: object) -> None:
        deadline = reconcile_deadline()
        assert deadline is not None
        seen.append(deadline)

    served = webhooks(Checks(Cabin, note))
    begin = served._host.monotonic()
    served.handle(post(CHECKS, REVIEW, timeout="3s"))
    end = served._host.monotonic()

    assert begin + 3 <= seen[0] <= end + 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"name": "short.name"}, "must be a domain name of three parts"),
        ({"timeout": 31}, "must be 1 to 30 seconds"),
        ({"operations": []}, "is never called"),
        ({"view": int}, "cannot be a view"),
    ],
)
def test_a_wrong_declaration_is_refused_at_once(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Checks(Cabin, lambda *_: None, **options)


def test_two_webhooks_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match=r"checks\.cabins\.v1\.example\.com is there already"):
        webhooks(Checks(Cabin, lambda *_: None), Checks(Cabin, lambda *_: None))
    with pytest.raises(ValueError, match="nothing is filled in when an object is deleted"):
        Defaults(Cabin, lambda cabin, _: cabin, operations=["DELETE"])
