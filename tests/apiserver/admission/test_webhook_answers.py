# SPDX-License-Identifier: Apache-2.0
"""Each answer of a webhook ends the write as on a real server, with its code and its words."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.webhooks import ROOT, Answer, Called, configuration, hook, patches, reviewed, says

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

ANSWERS = Path(__file__).resolve().parents[2] / "data" / "webhooks" / "answers-1.36.json"
RECORDED: dict[str, Any] = json.loads(ANSWERS.read_text(encoding="utf-8"))
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def add(path: str, value: Any) -> Answer:
    return patches({"op": "add", "path": path, "value": value})


ADDED = packed('[{"op": "add", "path": "/data/x", "value": "y"}]')
WEBHOOKS: dict[str, Answer] = {
    "deny": says(False),
    "denymsg": says(False, status={"message": "no way", "code": 403}),
    "denyreason": says(False, status={"reason": "Forbidden"}),
    "deny200": says(False, status={"message": "m", "code": 200, "status": "Success"}),
    "denydetails": says(
        False,
        status={
            "message": "m",
            "code": 422,
            "reason": "Invalid",
            "details": {"causes": [{"field": "a", "message": "b", "reason": "c"}]},
        },
    ),
    "e500": reviewed(b"boom", 500),
    "e404": reviewed(b"404 page not found", 404),
    "e503j": reviewed({"kind": "Status", "message": "sorry"}, 503),
    "redirect": reviewed(b"", 302),
    "garbage": reviewed(b"hello", 200, "text/plain"),
    "garbagej": reviewed(b"hello"),
    "empty": reviewed(b""),
    "list": reviewed([]),
    "noreview": reviewed({"a": 1}),
    "otherkind": reviewed({"apiVersion": "v1", "kind": "Pod"}),
    "nores": reviewed(REVIEW),
    "uid": reviewed({**REVIEW, "response": {"uid": "x", "allowed": True}}),
    "wrongtype": says("yes"),
    "unknownfield": says(foo=1),
    "big": says(status={"message": "x" * 4_000_000}),
    "warn": says(warnings=["one", 'two "q" \\', "one", "new\nline", "x" * 300]),
    "warnbig": says(warnings=[f"a{index:02}" + "x" * 400 for index in range(20)]),
    "warndeny": says(False, warnings=["w"]),
    "audit": says(auditAnnotations={"a": "b"}),
    "vpatch": says(patch=ADDED, patchType="JSONPatch"),
    "p": says(patch=ADDED, patchType="JSONPatch"),
    "pnotype": says(patch=packed("[]")),
    "ptypeonly": says(patchType="JSONPatch"),
    "pother": says(patch=ADDED, patchType="MergePatch"),
    "pbad64": says(patch="%%%", patchType="JSONPatch"),
    "pundec": says(patch=packed('{"a":1}'), patchType="JSONPatch"),
    "pnojson": says(patch=packed("xx"), patchType="JSONPatch"),
    "pempty": patches(),
    "premove": patches({"op": "remove", "path": "/data/nothing"}),
    "ptest": patches({"op": "test", "path": "/data/a", "value": "zzz"}),
    "pdeep": add("/foo/bar/x", "y"),
    "pop": patches({"op": "frob", "path": "/data/x", "value": "y"}),
    "ptype": add("/data/x", 1),
    "pname": patches({"op": "replace", "path": "/metadata/name", "value": "other"}),
    "pns": patches({"op": "replace", "path": "/metadata/namespace", "value": "other"}),
    "pinvalid": add("/data/a~1b c", "y"),
    "plabel": add("/metadata/labels", {"a": "b c"}),
    "punknown": add("/frob", 1),
    "puid": add("/metadata/uid", "abc"),
    "pgone": patches({"op": "remove", "path": "/data/a"}),
    "ok": says(),
    "beta": reviewed({**REVIEW, "apiVersion": "admission.k8s.io/v1beta1", "response": {"allowed": True}}),
}
# Cases of the recording that are about calls, deletions or forms of Go, which other tests have or nothing here has.
UNPLAYED = ("beta", "beta only", "slow", "slow ignore", "pkind", "pmf", "pwhole", "delete patch", "delete deny")
CASES = [
    label
    for label in RECORDED
    if label.partition(":")[0] in "vm" and label[2:].partition(" ")[0] in WEBHOOKS and label[2:] not in UNPLAYED
]
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
_UID = re.compile(r'response\.uid=."[^,]*,')


def without_uid(status: dict[str, Any]) -> Any:
    return json.loads(_UID.sub("", json.dumps(status)))


def play(label: str, answer: str, *, kind: str = "", **fields: Any) -> tuple[int, dict[str, Any], str]:
    """Create a config map that one webhook sees; return the status, the answer and its warnings."""
    called = Called(WEBHOOKS)
    asking = Asking(APIServer(Simulation(0).host("apiserver"), caller=called))
    word = kind or {"v": "Validating", "m": "Mutating"}[label[0]]
    one = {**hook(answer, **fields), "name": "hook.example.com"}
    code, _ = asking("POST", f"{ROOT}/{word.lower()}webhookconfigurations", configuration(word, one))
    assert code == 201
    name = re.search(r'ConfigMap "(cm\d+)"', json.dumps(RECORDED.get(label, {})).replace('\\"', '"'))
    metadata = {"name": name[1] if name else "cm"}
    response = asking.response(
        "POST", "/api/v1/namespaces/default/configmaps", {**OBJECT, "metadata": metadata}, headers={}
    )
    return response.status, json.loads(response.body), response.headers.get("warning", "")


@pytest.mark.scenario("AW-07")
@pytest.mark.parametrize("label", CASES)
def test_a_write_ends_as_on_a_real_server(label: str) -> None:
    recorded = RECORDED[label]
    name, _, policy = label[2:].partition(" ")
    code, answer, warnings = play(label, name, **({"failurePolicy": "Ignore"} if policy == "ignore" else {}))
    assert code == recorded["code"], answer
    if label == "m:ptype":  # a real server names the type of Go
        assert "expected a string, got a number" in answer["message"]
    elif code >= 400:
        assert without_uid(answer) == without_uid(recorded["status"])
    else:
        assert answer.get("data") == recorded["data"]
    assert warnings == ", ".join(recorded.get("warning", ()))


@pytest.mark.scenario("AW-08")
@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
def test_a_webhook_that_cannot_be_reached_stops_writes_unless_its_failures_are_ignored(kind: str) -> None:
    code, answer, _ = play("refused", "nowhere", kind=kind, clientConfig={"url": "https://127.0.0.1:1/x"})
    assert (code, answer) == (500, RECORDED["refused"]["status"])
    code, _, _ = play("refused", "nowhere", kind=kind, failurePolicy="Ignore")
    assert code == RECORDED["refused ignore"]["code"] == 201


def test_certificates_that_are_none_are_told_of() -> None:
    garbage = {"url": "https://HOST/ok", "caBundle": base64.b64encode(b"garbage").decode()}
    code, answer, _ = play("garbage ca", "ok", kind="Validating", clientConfig=garbage)
    assert (code, answer) == (500, RECORDED["garbage ca"]["status"])


def test_an_older_review_is_sent_to_a_webhook_that_knows_no_other() -> None:
    assert play("old", "ok", kind="Validating", admissionReviewVersions=["v1beta1"])[0] == 201
    assert play("old", "beta", kind="Validating", admissionReviewVersions=["v2", "v1beta1"])[0] == 201
    code, answer, _ = play("v:beta", "beta")
    assert (code, answer) == (500, RECORDED["v:beta"]["status"])
