# SPDX-License-Identifier: Apache-2.0
"""Custom objects that a webhook converts: on reads and writes, in lists and watches, with a real server's refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import MERGE, Asking, Told
from kit.apiserver.converting import DEFINITIONS, GROUP, Converter, definition
from kit.apiserver.webhooks import Called, Object

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

ANSWERS = Path(__file__).resolve().parents[2] / "data" / "webhooks" / "conversions-1.36.json"
RECORDED: dict[str, Any] = json.loads(ANSWERS.read_text(encoding="utf-8"))


class Served:
    def __init__(self, **options: Any) -> None:
        self.convert = Converter()
        self.called = Called({"convert": self.convert})
        self.ask = Asking(APIServer(Simulation(0).host("apiserver"), caller=self.called))
        self.ask.ok("POST", DEFINITIONS, definition(**options))

    def path(self, version: str, name: str = "") -> str:
        return f"/apis/{GROUP}/{version}/namespaces/default/foos{'/' if name else ''}{name}"

    def create(self, version: str, name: str, **spec: str) -> tuple[int, Any]:
        obj = {"apiVersion": f"{GROUP}/{version}", "kind": "Foo", "metadata": {"name": name}, "spec": spec}
        return self.ask("POST", self.path(version), obj)

    def spec(self, version: str, name: str) -> Any:
        return self.ask.ok("GET", self.path(version, name))["spec"]


@pytest.fixture
def served() -> Served:
    return Served()


@pytest.mark.scenario("AW-11")
def test_each_version_shows_its_own_fields_whichever_wrote_the_object(served: Served) -> None:
    served.create("v1", "one", a="x")
    assert served.create("v2", "two", b="y")[1]["spec"] == {"b": "y"}
    assert (served.spec("v1", "one"), served.spec("v2", "one")) == ({"a": "x"}, {"b": "x"})
    assert (served.spec("v1", "two"), served.spec("v2", "two")) == ({"a": "y"}, {"b": "y"})
    patched = served.ask.ok("PATCH", served.path("v2", "one"), {"spec": {"b": "z"}}, headers={"content-type": MERGE})
    assert (patched["spec"], patched["metadata"]["generation"]) == ({"b": "z"}, 2)
    assert served.spec("v1", "one") == {"a": "z"}


def test_an_object_is_sent_once_for_each_of_its_states_and_a_list_in_one_review(served: Served) -> None:
    for name in ("a", "b", "c"):
        served.create("v1", name, a=name)
    assert served.convert.sizes == []
    for _ in range(2):
        items = served.ask.ok("GET", served.path("v2"))["items"]
        assert [item["spec"] for item in items] == [{"b": "a"}, {"b": "b"}, {"b": "c"}]
        assert served.spec("v2", "a") == {"b": "a"}
    assert served.convert.sizes == [3]


def test_a_table_has_the_cells_of_its_version(served: Served) -> None:
    present = served.ask.ok("GET", f"{DEFINITIONS}/foos.{GROUP}")
    for version in present["spec"]["versions"]:
        version["additionalPrinterColumns"] = [{"name": "B", "type": "string", "jsonPath": ".spec.b"}]
    served.ask.ok("PUT", f"{DEFINITIONS}/foos.{GROUP}", present)
    served.create("v1", "one", a="x")
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    assert served.ask("GET", served.path("v2"), headers=table)[1]["rows"][0]["cells"] == ["one", "x"]


@pytest.mark.scenario("AW-12")
def test_a_watch_shows_objects_in_its_version_and_ends_with_an_error_if_one_cannot_be_converted(served: Served) -> None:
    served.create("v1", "one", a="x")
    told = Told()
    watch = served.ask.server.handle(HTTPRequest("GET", served.path("v2"), (("watch", "1"),)), told)
    assert not isinstance(watch, HTTPResponse)
    first = [json.loads(line) for line in watch.take()[0]]
    assert [(one["type"], one["object"]["spec"]) for one in first] == [("ADDED", {"b": "x"})]
    served.create("v2", "two", b="y")
    assert json.loads(watch.take()[0][0])["object"]["spec"] == {"b": "y"}
    served.convert.answer = lambda whole: HTTPResponse(500, {}, b"boom")
    served.create("v1", "three", a="z")
    lines, is_over = watch.take()
    error = json.loads(lines[-1])
    assert (error["type"], error["object"]["code"], is_over) == ("ERROR", 500, True)


def test_objects_that_were_stored_in_an_older_version_are_converted_too(served: Served) -> None:
    served.create("v1", "old", a="x")
    present = served.ask.ok("GET", f"{DEFINITIONS}/foos.{GROUP}")
    changed = {**present, "spec": definition(storage="v2")["spec"]}
    served.ask.ok("PUT", f"{DEFINITIONS}/foos.{GROUP}", changed)
    served.create("v2", "new", b="y")
    assert (served.spec("v2", "old"), served.spec("v2", "new")) == ({"b": "x"}, {"b": "y"})
    assert (served.spec("v1", "old"), served.spec("v1", "new")) == ({"a": "x"}, {"a": "y"})
    served.ask.ok("PATCH", served.path("v2", "old"), {}, headers={"content-type": MERGE})  # a migration of storage
    served.convert.answer = lambda whole: HTTPResponse(500, {}, b"boom")
    assert served.spec("v2", "old") == {"b": "x"}


def test_a_field_that_a_conversion_loses_is_seen_to_be_lost(served: Served) -> None:
    def forget(obj: Object) -> Object:
        obj["spec"].pop("kept", None)
        return obj

    served.convert.spoil = forget
    served.create("v1", "one", a="x", kept="yes")
    shown = served.ask.ok("GET", served.path("v2", "one"))
    served.ask.ok("PUT", served.path("v2", "one"), shown)
    assert served.spec("v1", "one") == {"a": "x"}


def changed_metadata(**fields: Any) -> Callable[[Object], Object]:
    return lambda obj: {**obj, "metadata": {**obj["metadata"], **fields}}


def response_with(**fields: Any) -> Callable[[Object], Object]:
    return lambda whole: {**whole, "response": {**whole["response"], **fields}}


SPOILT: dict[str, Callable[[Object], Object]] = {
    "name": changed_metadata(name="zz"),
    "ns": changed_metadata(namespace="zz"),
    "uid": changed_metadata(uid="zz"),
    "kind": lambda obj: {**obj, "kind": "Zz"},
    "version": lambda obj: {**obj, "apiVersion": "x.conv.io/v9"},
    "nometa": lambda obj: {key: value for key, value in obj.items() if key != "metadata"},
    "label": changed_metadata(labels={"a": "b c"}),
    "labeltype": changed_metadata(labels={"a": 1}),
}
ANSWERED: dict[str, Callable[[Object], Any]] = {
    "fewer": response_with(convertedObjects=[]),
    "failed": response_with(result={"status": "Failed", "message": "no idea how"}),
    "failednomsg": response_with(result={"status": "Failed"}),
    "uidresp": response_with(uid="zz"),
    "noresp": lambda whole: {**whole, "response": None},
    "e500": lambda whole: HTTPResponse(500, {}, b"boom"),
    "garbage": lambda whole: HTTPResponse(200, {}, b"hello"),
    "gvk": lambda whole: {**whole, "apiVersion": "apiextensions.k8s.io/v1beta1"},
    "item": response_with(convertedObjects=[1]),
}
_UIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


@pytest.mark.scenario("AW-13")
@pytest.mark.parametrize("case", [*SPOILT, *ANSWERED])
def test_a_conversion_that_fails_is_told_of_as_by_a_real_server(served: Served, case: str) -> None:
    served.create("v1", "one", a="x")
    served.convert.spoil = SPOILT.get(case, served.convert.spoil)
    served.convert.answer = ANSWERED.get(case, served.convert.answer)
    code, answer = served.ask("GET", served.path("v2", "one"))
    recorded = RECORDED[f"get {case}"]
    assert (code, _UIDS.sub("", answer["message"])) == (recorded["code"], _UIDS.sub("", recorded["message"]))
    assert "reason" not in answer
    assert served.ask("GET", served.path("v2"))[0] == 500
    assert served.spec("v1", "one") == {"a": "x"}


@pytest.mark.scenario("AW-14")
def test_a_write_that_cannot_be_converted_is_refused_and_stores_nothing(served: Served) -> None:
    served.convert.answer = ANSWERED["failed"]
    code, answer = served.create("v2", "three", b="y")
    assert (code, answer["message"]) == (500, RECORDED["create failed"]["message"])
    assert served.ask("GET", served.path("v1", "three"))[0] == 404
    assert served.create("v1", "four", a="y")[0] == 201


def test_labels_and_annotations_are_the_only_metadata_that_a_conversion_changes(served: Served) -> None:
    served.create("v1", "one", a="x")
    served.convert.spoil = changed_metadata(labels={"a": "b"}, annotations={"c": "d"}, finalizers=["x/y"])
    metadata = served.ask.ok("GET", served.path("v2", "one"))["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"a": "b"}, {"c": "d"})
    assert "finalizers" not in metadata
    assert metadata["resourceVersion"]


CONFIGS = [
    json.loads(line) for line in (ANSWERS.parent / "conversion-configs-1.36.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", [pytest.param(one, id=one["label"]) for one in CONFIGS])
def test_a_definition_is_refused_for_where_its_webhook_is_as_by_a_real_server(case: Any) -> None:
    made = definition()
    made["spec"]["conversion"]["webhook"]["clientConfig"] = case["client"]
    code, answer = Asking(APIServer(Simulation(0).host("apiserver")))("POST", DEFINITIONS, made)
    assert code == case["code"]
    assert answer.get("message") == (case["message"] or "").replace("y.conv.io", GROUP) or code == 201


def test_certificates_that_are_none_are_told_of_at_each_conversion() -> None:
    served = Served(caBundle="Z2FyYmFnZQ==")
    served.create("v1", "one", a="x")
    code, answer = served.ask("GET", served.path("v2", "one"))
    assert (code, answer["message"]) == (500, "unable to load root certificates: unable to parse bytes as PEM block")


def test_a_webhook_that_is_not_there_stops_reads_in_other_versions_alone() -> None:
    served = Served(url="https://HOST/nowhere")
    served.create("v1", "one", a="x")
    code, answer = served.ask("GET", served.path("v2", "one"))
    assert code == 500
    assert answer["message"] == (
        "conversion webhook for x.conv.io/v1, Kind=Foo failed: "
        'Post "https://HOST/nowhere?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused'
    )
    assert served.spec("v1", "one") == {"a": "x"}
