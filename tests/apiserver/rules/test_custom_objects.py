# SPDX-License-Identifier: Apache-2.0
"""Custom objects: pruning, defaults, validation, subresources, versions and selection."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kit.asking import JSON_PATCH, STRATEGIC, Asking, Object, brief, events
from kit.defining import ANYTHING, DEFINITIONS, GROUP, WIDGETS, define, structure, version, widget

from controller_runtime.apiserver.rules.definitions.structural_shape import structural_shape

TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
APPLY = {"content-type": "application/apply-patch+yaml"}
ONE = f"{WIDGETS}/w"
DEFINITION = f"{DEFINITIONS}/widgets.{GROUP}"


def fields(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


def define_spec(ask: Asking, spec: Object, **parts: Any) -> None:
    define(ask, version(schema=structure(spec), **parts))


def spec_of(ask: Asking, spec: Any) -> Any:
    return ask.ok("POST", WIDGETS, widget(spec=spec))["spec"]


WHOLE: Object = {"type": "integer"}
TEXT: Object = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "sent", "stored"),
    [
        pytest.param(fields(a=WHOLE), {"a": 1, "b": 2}, {"a": 1}, id="unknown fields go"),
        pytest.param(fields(), {"a": 1}, {}, id="an object without fields has none"),
        pytest.param(ANYTHING, {"a": {"b": None}}, {"a": {"b": None}}, id="unknown fields stay where it is said"),
        pytest.param(
            {**ANYTHING, **fields(a=fields(b=WHOLE))},
            {"a": {"b": 1, "c": 1}, "d": 1},
            {"a": {"b": 1}, "d": 1},
            id="known fields are pruned among unknown ones",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": fields(b=WHOLE)},
            {"a": {"b": 1, "c": 1}},
            {"a": {"b": 1}},
            id="the values of a map",
        ),
        pytest.param(
            fields(a={"type": "array", "items": fields(b=WHOLE)}),
            {"a": [{"b": 1, "c": 1}]},
            {"a": [{"b": 1}]},
            id="the elements of a list",
        ),
        pytest.param(
            fields(a={"type": "object", "x-kubernetes-embedded-resource": True, **fields(spec=WHOLE)}),
            {"a": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": 1, "b": 1}},
            {"a": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": 1}},
            id="an object in an object",
        ),
        pytest.param(fields(a={**WHOLE, "default": 3}), {}, {"a": 3}, id="a default"),
        pytest.param(
            fields(a={**fields(b={**WHOLE, "default": 3}), "default": {}}), {}, {"a": {"b": 3}}, id="a default in one"
        ),
        pytest.param(fields(a={**WHOLE, "default": 3}), {"a": None}, {"a": 3}, id="null says nothing"),
        pytest.param(fields(a=WHOLE), {"a": None}, {}, id="null goes"),
        pytest.param(fields(a={**WHOLE, "nullable": True}), {"a": None}, {"a": None}, id="null stays where it may"),
        pytest.param(fields(a={"x-kubernetes-int-or-string": True}), {"a": "80%"}, {"a": "80%"}, id="a text of two"),
        pytest.param(fields(a={"x-kubernetes-int-or-string": True}), {"a": 80}, {"a": 80}, id="a number of two"),
        pytest.param(fields(a={"type": "number"}), {"a": 80}, {"a": 80}, id="an integer is a number"),
        pytest.param(fields(a=WHOLE), {"a": 2.0}, {"a": 2.0}, id="a number without a fraction is an integer"),
        pytest.param(fields(a=WHOLE), {"a": 1 << 40}, {"a": 1 << 40}, id="an integer may be large"),
    ],
)
def test_an_object_is_stored_in_the_shape_of_its_schema(ask: Asking, schema: Object, sent: Any, stored: Any) -> None:
    define_spec(ask, schema)

    assert spec_of(ask, sent) == stored


def in_body(told: str) -> str:
    return f"spec.a: Invalid value: {told}"


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        pytest.param(WHOLE, "x", in_body('"string": spec.a in body must be of type integer: "string"'), id="type"),
        pytest.param(
            {**WHOLE, "nullable": True},
            "x",
            in_body('"string": spec.a in body must be of type integer: "string"'),
            id="type of what may be null",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True},
            True,
            in_body('"boolean": spec.a in body must be of type integer,string: "boolean"'),
            id="neither of two types",
        ),
        pytest.param(
            {**TEXT, "enum": ["x", "y"]}, "z", 'spec.a: Unsupported value: "z": supported values: "x", "y"', id="enum"
        ),
        pytest.param(
            {**WHOLE, "enum": [1, 2]},
            3,
            'spec.a: Unsupported value: 3: supported values: "1", "2"',
            id="enum of numbers",
        ),
        pytest.param(
            {**WHOLE, "minimum": 2}, 1, in_body("1: spec.a in body should be greater than or equal to 2"), id="minimum"
        ),
        pytest.param(
            {**WHOLE, "minimum": 2, "exclusiveMinimum": True},
            2,
            in_body("2: spec.a in body should be greater than 2"),
            id="exclusive minimum",
        ),
        pytest.param(
            {**WHOLE, "maximum": 2}, 3, in_body("3: spec.a in body should be less than or equal to 2"), id="maximum"
        ),
        pytest.param(
            {"type": "number", "maximum": 0.5},
            0.75,
            in_body("0.75: spec.a in body should be less than or equal to 0.5"),
            id="maximum of fractions",
        ),
        pytest.param(
            {**WHOLE, "multipleOf": 2}, 3, in_body("3: spec.a in body should be a multiple of 2"), id="multiple"
        ),
        pytest.param(
            {**TEXT, "minLength": 2},
            "x",
            in_body('"x": spec.a in body should be at least 2 chars long'),
            id="too short",
        ),
        pytest.param({**TEXT, "maxLength": 2}, "xyz", "spec.a: Too long: may not be more than 2 bytes", id="too long"),
        pytest.param(
            {**TEXT, "pattern": "^x+$"}, "y", in_body("\"y\": spec.a in body should match '^x+$'"), id="pattern"
        ),
        pytest.param(
            {**TEXT, "format": "date-time"},
            "now",
            in_body('"now": spec.a in body must be of type date-time: "now"'),
            id="format",
        ),
        pytest.param(
            {"type": "array", "items": WHOLE, "minItems": 2},
            [1],
            in_body("1: spec.a in body should have at least 2 items"),
            id="too few",
        ),
        pytest.param(
            {"type": "array", "items": WHOLE, "maxItems": 1},
            [1, 2],
            "spec.a: Too many: 2: must have at most 1 items",
            id="too many",
        ),
        pytest.param(
            {"type": "array", "items": WHOLE},
            [1, "x"],
            'spec.a[1]: Invalid value: "string": spec.a[1] in body must be of type integer: "string"',
            id="element",
        ),
        pytest.param(
            {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
            ["x", "x"],
            'spec.a[1]: Duplicate value: "x"',
            id="twice in a set",
        ),
        pytest.param({**fields(b=WHOLE), "required": ["b"]}, {}, "spec.a.b: Required value", id="required"),
        pytest.param(
            {"type": "object", "additionalProperties": WHOLE, "maxProperties": 1},
            {"x": 1, "y": 2},
            "spec.a: Too many: 2: must have at most 1 items",
            id="too many fields",
        ),
        pytest.param(
            {**WHOLE, "not": {"enum": [1]}},
            1,
            '<nil>: Invalid value: "": "spec.a" must not validate the schema (not)',
            id="not",
        ),
        pytest.param(
            {**WHOLE, "oneOf": [{"minimum": 1}, {"minimum": 2}]},
            3,
            '<nil>: Invalid value: "": "spec.a" must validate one and only one schema (oneOf). '
            "Found 2 valid alternatives",
            id="one of",
        ),
        pytest.param(
            {**WHOLE, "anyOf": [{"minimum": 5}, {"maximum": 1}]},
            3,
            '<nil>: Invalid value: "": "spec.a" must validate at least one schema (anyOf)',
            id="any of",
        ),
        pytest.param(
            {**WHOLE, "format": "int32"},
            1 << 40,
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.a',
            id="int32",
        ),
    ],
)
def test_a_value_against_its_schema_is_refused_in_the_words_of_a_real_server(
    ask: Asking, schema: Object, value: Any, told: str
) -> None:
    define_spec(ask, fields(a=schema))

    status, refused = ask("POST", WIDGETS, widget(spec={"a": value}))

    assert status == 422
    assert told in [f"{cause['field']}: {cause['message']}" for cause in refused["details"]["causes"]]


@pytest.mark.parametrize(
    ("format_", "good", "bad"),
    [
        pytest.param("byte", "aGk=", "h", id="byte"),
        pytest.param("cidr", "10.0.0.0/8", "10.0.0.0/99", id="cidr"),
        pytest.param("date", "2026-01-31", "2026-02-31", id="date"),
        pytest.param("duration", "1h30m", "soon", id="duration"),
        pytest.param("email", "a@example.com", "a", id="email"),
        pytest.param("hostname", "a.example.com", "a b", id="hostname"),
        pytest.param("ipv4", "10.0.0.1", "::1", id="ipv4"),
        pytest.param("ipv6", "::1", "10.0.0.1", id="ipv6"),
        pytest.param("k8s-short-name", "a-b", "A_b", id="short name"),
        pytest.param("mac", "00:11:22:33:44:55", "00", id="mac"),
        pytest.param("uri", "https://example.com/a", "a b", id="uri"),
        pytest.param("uuid", "8c9f0d7c-51a6-4f2b-9d3d-0a1b2c3d4e5f", "8c9f", id="uuid"),
        pytest.param("password", "anything", None, id="password, which is any text"),
    ],
)
def test_formats_of_texts_are_checked(ask: Asking, format_: str, good: str, bad: str | None) -> None:
    define_spec(ask, fields(a={**TEXT, "format": format_}))

    assert ask("POST", WIDGETS, widget("good", spec={"a": good}))[0] == 201
    if bad is not None:
        assert ask("POST", WIDGETS, widget("bad", spec={"a": bad}))[0] == 422


def test_what_every_object_has_is_not_filled_in_by_the_schema(ask: Asking) -> None:
    define(ask, version(schema={"type": "object", "properties": {"kind": {**TEXT, "default": "Other"}}}))

    assert ask.ok("POST", WIDGETS, widget())["kind"] == "Widget"


def test_an_object_has_to_say_what_it_is(ask: Asking) -> None:
    define(ask)

    assert ask("POST", WIDGETS, {"metadata": {"name": "w"}})[0] == 400
    assert ask("POST", WIDGETS, {**widget(), "kind": "Gadget"})[0] == 400
    assert ask("POST", WIDGETS, {**widget(), "apiVersion": "v1"})[0] == 400


def test_what_an_update_leaves_as_it_was_is_not_checked_again(ask: Asking) -> None:
    define_spec(ask, fields(a=WHOLE, b=TEXT))
    spec_of(ask, {"a": 9, "b": "x"})
    stricter = version(schema=structure(fields(a={**WHOLE, "maximum": 5}, b=TEXT)))
    ask.patch(DEFINITION, {"spec": {"versions": [stricter]}})

    assert ask.patch(ONE, {"spec": {"b": "y"}})[0] == 200
    assert ask.patch(ONE, {"spec": {"a": 8}})[0] == 422
    assert ask.patch(ONE, {"spec": {"a": 5}})[0] == 200


@pytest.mark.parametrize(
    "spec",
    [pytest.param("a", id="a text"), pytest.param([1], id="a list"), pytest.param({"finalizers": ["a"]}, id="its own")],
)
def test_whatever_a_spec_is_it_does_not_hold_its_object(ask: Asking, spec: Any) -> None:
    define_spec(ask, {"x-kubernetes-preserve-unknown-fields": True})
    spec_of(ask, spec)

    ask.ok("DELETE", ONE)

    assert ask("GET", ONE)[0] == 404


def test_what_has_another_type_than_its_schema_is_refused_or_replaced(ask: Asking) -> None:
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    items = {"type": "object", "required": ["k"], "properties": {"k": TEXT}}
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    scale = {"specReplicasPath": ".spec.b.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".spec.b"}
    define_spec(ask, fields(a={**keyed, "items": items}, b=anything), subresources={"scale": scale})
    spec_of(ask, {"b": 1})

    wrong = widget(spec={"a": [1]})
    applied = ask("PATCH", ONE, wrong, headers=APPLY, fieldManager="a", force="true")
    scaleless = ask("GET", f"{ONE}/scale")
    replaced = ask("PATCH", ONE, widget(spec={"b": {"n": 2}}), headers=APPLY, fieldManager="a", force="true")[1]

    assert applied[0] == 422
    assert scaleless[0] == 500  # as on a real server, if an object lacks the field of the wanted replicas
    assert "selector" not in ask.ok("GET", f"{ONE}/scale")["status"]
    assert replaced["spec"]["b"] == {"n": 2}


def test_true_is_not_one(ask: Asking) -> None:
    define_spec(ask, fields(known=WHOLE, any={"x-kubernetes-preserve-unknown-fields": True}))
    spec_of(ask, {"known": 1, "any": {"a": 1}})

    refused, _ = ask.patch(ONE, {"spec": {"known": True}})
    changed = ask.patch(ONE, {"spec": {"any": {"a": True}}})[1]

    assert refused == 422
    assert changed["spec"]["any"]["a"] is True
    assert changed["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("factor", "multiple", "other"),
    [pytest.param(0.1, 0.3, 0.35, id="a fraction"), pytest.param(3, 9, 10, id="a whole number")],
)
def test_multiples_of_fractions_are_multiples(ask: Asking, factor: float, multiple: float, other: float) -> None:
    define_spec(ask, fields(a={"type": "number", "multipleOf": factor}))

    assert spec_of(ask, {"a": multiple}) == {"a": multiple}
    assert ask("POST", WIDGETS, widget("x", spec={"a": other}))[0] == 422


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
    assert shown.headers["warning"] == f'299 - "{GROUP}/v1alpha1 Widget is deprecated"'
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


def test_strict_validation_refuses_what_would_be_pruned(ask: Asking) -> None:
    define_spec(ask, fields(a=WHOLE))

    status, refused = ask("POST", WIDGETS, widget(spec={"b": 1}), fieldValidation="Strict")

    assert status == 400
    assert refused["message"].endswith('strict decoding error: unknown field "spec.b"')


def test_what_a_change_leaves_alone_is_not_copied(ask: Asking) -> None:
    define_spec(ask, ANYTHING)
    kind = ask.server.kinds.find(GROUP, "v1", "widgets")
    assert kind is not None
    assert kind.definition is not None
    old = {"metadata": {"name": "w"}, "spec": {"a": {"b": [1]}}}

    new = structural_shape(kind.definition)({**old, "spec": {**old["spec"], "c": 1}}, old, None, [])

    assert new["spec"]["a"] is old["spec"]["a"]  # type: ignore[index]


def test_an_embedded_object_in_a_list_says_what_it_is(ask: Asking) -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    define_spec(ask, fields(list={"type": "array", "items": embedded}))

    status, refused = ask("POST", WIDGETS, widget(spec={"list": [{"apiVersion": "v1", "kind": "A"}, {"kind": "B"}]}))

    assert status == 422
    assert [cause["field"] for cause in refused["details"]["causes"]] == ["spec.list[1].apiVersion"]


def test_a_number_or_text_may_say_so_again_with_a_format_of_nothing(ask: Asking) -> None:
    again = [{"type": "integer", "format": ""}, {"type": "string"}]

    define_spec(ask, fields(a={"x-kubernetes-int-or-string": True, "anyOf": again}))

    assert ask("POST", WIDGETS, widget(spec={"a": "1"}))[0] == 201
