# SPDX-License-Identifier: Apache-2.0
"""Custom objects: subresources, versions, tables, selection and patches."""

from __future__ import annotations

import json
from typing import Any

from kit.apiserver.asking import JSON_PATCH, STRATEGIC, Asking, brief, events
from kit.apiserver.defining import (
    ANYTHING,
    GROUP,
    TEXT,
    WHOLE,
    WIDGETS,
    define,
    define_spec,
    fields,
    structure,
    version,
    widget,
)

TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
APPLY = {"content-type": "application/apply-patch+yaml"}
ONE = f"{WIDGETS}/w"


def test_an_object_has_to_say_what_it_is(ask: Asking) -> None:
    define(ask)

    assert ask("POST", WIDGETS, {"metadata": {"name": "w"}})[0] == 400
    assert ask("POST", WIDGETS, {**widget(), "kind": "Gadget"})[0] == 422
    assert ask("POST", WIDGETS, {**widget(), "apiVersion": "v1"})[0] == 400


def test_a_status_is_written_by_its_own_path_only_and_nothing_else_is_there(ask: Asking) -> None:
    define(ask, version(schema=structure(ANYTHING, required=["spec"]), subresources={"status": {}}))
    made = ask.ok("POST", WIDGETS, widget(spec={"a": 1}, status={"b": 1}))

    _, changed = ask.patch(ONE, {"spec": {"a": 2}, "status": {"b": 2}})
    _, told = ask.patch(f"{ONE}/status", {"metadata": {"labels": {"x": "y"}}, "spec": {"a": 3}, "status": {"b": 3}})

    assert "status" not in made
    assert "status" not in changed
    assert (told["spec"], told["status"]) == ({"a": 2}, {"b": 3})
    assert told["metadata"]["generation"] == 2
    assert "labels" not in told["metadata"]


def test_a_wrong_status_is_refused_by_the_schema_of_the_status(ask: Asking) -> None:
    schema = {"type": "object", "properties": {"status": fields(ready={"type": "boolean"})}}
    define(ask, version(schema=schema, subresources={"status": {}}))
    ask.ok("POST", WIDGETS, widget())

    status, refused = ask.patch(f"{ONE}/status", {"status": {"ready": "x"}})

    assert status == 422
    assert refused["details"]["causes"][0]["field"] == "status.ready"


def test_without_its_own_path_a_status_is_a_field_like_others(ask: Asking) -> None:
    define(ask)

    assert ask.ok("POST", WIDGETS, widget(status={"b": 1}))["status"] == {"b": 1}
    assert ask("GET", f"{ONE}/status")[0] == 404


def test_a_scale_reads_and_writes_where_the_definition_says(ask: Asking) -> None:
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.of"}
    define(ask, version(subresources={"scale": paths}))
    ask.ok("POST", WIDGETS, widget(spec={"size": 2}, status={"n": 1, "of": "a=b"}))

    before = ask.ok("GET", f"{ONE}/scale")
    status, after = ask.patch(f"{ONE}/scale", {"spec": {"replicas": 5}})
    refused, _ = ask.patch(f"{ONE}/scale", {"spec": {"replicas": -1}})
    _, told = ask.patch(ONE, {"spec": {"size": -1}})

    assert (before["kind"], before["spec"], before["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 1, "selector": "a=b"},
    )
    assert (status, after["spec"], refused) == (200, {"replicas": 5}, 422)
    assert told["details"]["causes"][0]["field"] == ".spec.size"
    assert ask.ok("GET", ONE)["spec"] == {"size": 5}


def test_selectable_fields_select_lists_and_watches(ask: Asking) -> None:
    define_spec(ask, fields(color=TEXT, on={"type": "boolean"}), selectableFields=[{"jsonPath": ".spec.color"}])
    for name, color in (("a", "red"), ("b", "blue")):
        ask.ok("POST", WIDGETS, widget(name, spec={"color": color, "on": True}))
    watch = ask.watch(WIDGETS, fieldSelector="spec.color=blue")

    red = ask.ok("GET", WIDGETS, fieldSelector="spec.color=red")["items"]
    ask.patch(f"{WIDGETS}/a", {"spec": {"color": "blue"}})
    status, refused = ask("GET", WIDGETS, fieldSelector="spec.on=true")

    assert [one["metadata"]["name"] for one in red] == ["a"]
    assert brief(events(watch)) == [("ADDED", "b"), ("ADDED", "a")]
    assert (status, refused["message"]) == (400, "field label not supported: spec.on")


def test_a_table_has_the_columns_of_the_definition(ask: Asking) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Hosts", "type": "string", "jsonPath": ".spec.hosts"},
        {"name": "Wrong", "type": "integer", "jsonPath": ".metadata.name"},
    ]
    define(ask, version(additionalPrinterColumns=columns))
    ready = {"conditions": [{"type": "A", "status": "x"}, {"type": "Ready", "status": "True"}]}
    ask.ok("POST", WIDGETS, widget(spec={"size": 3, "hosts": ["a", "b"]}, status=ready))

    table = ask.ok("GET", WIDGETS, headers=TABLE)

    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", *(one["name"] for one in columns)]
    assert [column["priority"] for column in table["columnDefinitions"]][:3] == [0, 1, 0]
    assert table["rows"][0]["cells"] == ["w", 3, "True", "0s", '["a","b"]', None]


def test_without_columns_a_table_has_the_age(ask: Asking) -> None:
    define(ask)
    ask.ok("POST", WIDGETS, widget())

    assert ask.ok("GET", WIDGETS, headers=TABLE)["rows"][0]["cells"] == ["w", "0s"]


def test_patches_are_taken_but_for_strategic_ones(ask: Asking) -> None:
    define(ask)
    ask.ok("POST", WIDGETS, widget(spec={"list": [1]}))

    assert ask.patch(ONE, [{"op": "add", "path": "/spec/list/-", "value": 2}], JSON_PATCH)[1]["spec"] == {
        "list": [1, 2]
    }
    assert ask.patch(ONE, {"spec": {"list": None}})[1]["spec"] == {}
    assert ask.patch(ONE, {"spec": {}}, STRATEGIC)[0] == 415


def test_fields_are_applied_and_owned_by_the_schema(ask: Asking) -> None:
    ports = {
        "type": "array",
        "items": {**fields(name=TEXT, port=WHOLE), "required": ["name"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    define_spec(ask, fields(ports=ports, free=ANYTHING))

    def apply(manager: str, **spec: Any) -> tuple[int, Any]:
        body = json.dumps(widget(spec=spec)).encode()
        return ask("PATCH", ONE, body, headers=APPLY, fieldManager=manager)

    created, _ = apply("a", ports=[{"name": "x", "port": 1}], free={"one": 1})
    added, both = apply("b", ports=[{"name": "y", "port": 2}], free={"two": 2})
    refused, told = apply("b", ports=[{"name": "x", "port": 3}])
    _, less = apply("a", ports=[{"name": "x", "port": 1}])

    assert (created, added) == (201, 200)
    assert both["spec"] == {
        "ports": [{"name": "x", "port": 1}, {"name": "y", "port": 2}],
        "free": {"one": 1, "two": 2},
    }
    assert (refused, told["details"]["causes"][0]["field"]) == (409, '.spec.ports[name="x"].port')
    assert less["spec"]["free"] == {"two": 2}


def test_versions_show_the_same_objects_each_by_its_schema(ask: Asking) -> None:
    old = version("v1alpha1", structure(fields(size=WHOLE)), deprecated=True)
    define(ask, old, version("v1", structure(fields(size=WHOLE, color={**TEXT, "default": "red"}))))
    earlier = WIDGETS.replace("/v1/", "/v1alpha1/")
    ask.ok("POST", earlier, widget("w", "v1alpha1", spec={"size": 1}))

    group = ask.ok("GET", f"/apis/{GROUP}")
    now, shown = ask.ok("GET", ONE), ask.response("GET", f"{earlier}/w")
    ask.patch(ONE, {"spec": {"color": "blue"}})
    without_color = ask.ok("GET", f"{earlier}/w")["spec"]
    ask.patch(f"{earlier}/w", {"spec": {"size": 2}})

    assert [one["version"] for one in group["versions"]] == ["v1", "v1alpha1"]
    assert (now["apiVersion"], json.loads(shown.body)["apiVersion"]) == (f"{GROUP}/v1", f"{GROUP}/v1alpha1")
    assert shown.headers["warning"] == f'299 - "{GROUP}/v1alpha1 Widget is deprecated; use {GROUP}/v1 Widget"'
    assert without_color == {"size": 1}
    assert ask.ok("GET", f"{earlier}/w")["spec"] == {"size": 2}
    items = ask.ok("GET", earlier)["items"]
    assert [(one["apiVersion"], one["spec"]) for one in items] == [(f"{GROUP}/v1alpha1", {"size": 2})]


def test_pages_selectors_and_deletion_of_many_work_as_for_other_kinds(ask: Asking) -> None:
    define(ask)
    for name in "abc":
        ask.ok("POST", WIDGETS, {**widget(name), "metadata": {"name": name, "labels": {"is": name}}})

    first = ask.ok("GET", WIDGETS, limit=2)
    rest = ask.ok("GET", WIDGETS, limit=2, continue_=first["metadata"]["continue"])
    ask.ok("DELETE", WIDGETS, labelSelector="is in (a,b)")

    assert (first["kind"], len(first["items"]), len(rest["items"])) == ("WidgetList", 2, 1)
    assert first["items"][0]["kind"] == "Widget"
    assert [one["metadata"]["name"] for one in ask.ok("GET", WIDGETS)["items"]] == ["c"]


def test_a_kind_can_belong_to_the_cluster(ask: Asking) -> None:
    define(ask, scope="Cluster")

    assert ask("POST", f"/apis/{GROUP}/v1/widgets", widget())[0] == 201
    assert ask.response("GET", WIDGETS).status == 404


def test_a_finalizer_without_a_domain_is_warned_of(ask: Asking) -> None:
    define(ask)
    body = {**widget(), "metadata": {"name": "w", "finalizers": ["mine"]}}

    first, again = ask.response("POST", WIDGETS, body), ask.response("GET", ONE)

    assert "prefer a domain-qualified finalizer name" in first.headers["warning"]
    assert "warning" not in again.headers


def test_a_write_may_be_tried_without_being_done(ask: Asking) -> None:
    define_spec(ask, fields(a={**WHOLE, "default": 1}))

    assert ask.ok("POST", WIDGETS, widget(), dryRun="All")["metadata"]["name"] == "w"
    assert ask("GET", ONE)[0] == 404
