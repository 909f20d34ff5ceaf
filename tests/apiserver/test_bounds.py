# SPDX-License-Identifier: Apache-2.0
"""What one request may cost, and how much a refusal says."""

from __future__ import annotations

import json
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kit.asking import JSON_PATCH, LEASES, MERGE, NODES, PODS, STRATEGIC, Asking, lease, node, pod
from kit.defining import ANYTHING, DEFINITIONS, WIDGETS, conditions, define, definition, structure, version, widget

from controller_runtime.api.http import BODY_LIMIT
from controller_runtime.api.names import qualified_name_problems
from controller_runtime.api.quantities import QUANTITY
from controller_runtime.api.selectors import LabelSelector
from controller_runtime.apiserver.bounds import (
    LONGEST,
    MOST_COUNTED,
    MOST_READ,
    MOST_SAID,
    MOST_STEPS,
    MOST_STORED,
    MOST_TOLD,
    MOST_VALUES,
    values_in,
)
from controller_runtime.apiserver.kinds.registry import CONFIG_MAP
from controller_runtime.apiserver.options import MANAGER_LENGTH
from controller_runtime.apiserver.rules.schema_faults import schema_causes
from controller_runtime.apiserver.rules.validation import metadata_causes
from controller_runtime.apiserver.rules.work import MOST_CHECKS
from controller_runtime.apiserver.writes import jsonpatch

CONFIGS = "/api/v1/namespaces/default/configmaps"
APPLY = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TOO_MANY = ",".join(["1"] * (MOST_VALUES + 1)).encode()
SHORT = 256 * 1024  # bytes of a refusal

Object = dict[str, Any]


def config(name: str = "a", **parts: Any) -> Object:
    return {"metadata": {"name": name}, **parts}


def calls(work: Callable[[], object]) -> int:
    """Return how many functions `work` calls, including those in C."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds of CPU time that `work` takes on this thread: the shortest of three runs."""
    taken = []
    for _ in range(3):
        started = time.thread_time()
        work()
        taken.append(time.thread_time() - started)
    return min(taken)


class Compared(str):
    """A string that counts how often it is compared."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()


@pytest.fixture(autouse=True)
def nothing_is_compared_yet() -> None:
    Compared.times = 0


# How many values a body may hold


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param(b"[" + b"1," * MOST_VALUES + b"1]", MOST_VALUES + 1, id="elements"),
        pytest.param(b'{"a":"' + b"[,{" * MOST_VALUES + b'"}', 1, id="a text is one value"),
        pytest.param(b'{"a":"' + rb"\",[" * MOST_VALUES + b'"}', 1, id="with quotes in it"),
        pytest.param(
            b'{"a":"' + rb"\\" * MOST_VALUES + b'","b":[' + b"[]," * MOST_VALUES + b"1]}", 2, id="backslashes"
        ),
        pytest.param(b"[" + b"{}," * (MOST_VALUES - 1) + b"[]]", MOST_VALUES, id="what is empty holds nothing"),
    ],
)
def test_the_values_of_a_text_are_counted_before_it_is_read(text: bytes, values: int) -> None:
    assert min(values_in(text), MOST_VALUES + 1) == (values if values != 2 else MOST_VALUES + 1)


def test_a_text_that_does_not_end_is_looked_at_once() -> None:
    def text(length: int) -> bytes:
        return b"," * (MOST_VALUES + 1) + b'"' + rb"\"" * length

    assert seconds(lambda: values_in(text(400_000))) < 50 * seconds(lambda: values_in(text(40_000)))


@pytest.mark.parametrize(
    ("method", "path", "body", "media_type"),
    [
        pytest.param("POST", CONFIGS, b'{"x":[%b]}' % TOO_MANY, "application/json", id="json"),
        pytest.param("POST", CONFIGS, b"{x: [%b, %b]}" % (TOO_MANY, TOO_MANY), "application/yaml", id="yaml"),
        pytest.param(
            "POST",
            PODS,
            b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x80\xea\x30" + b"\x12\x00" * 400_000,
            PROTOBUF,
            id="protobuf",
        ),
        pytest.param("PATCH", f"{CONFIGS}/a", b'{"x":[%b]}' % TOO_MANY, MERGE, id="merge patch"),
        pytest.param("PATCH", f"{CONFIGS}/a", b'{"x":[%b]}' % TOO_MANY, STRATEGIC, id="strategic merge patch"),
        pytest.param("PATCH", f"{CONFIGS}/a", b"[%b]" % TOO_MANY, JSON_PATCH, id="json patch"),
        pytest.param("PATCH", f"{CONFIGS}/a", b'{"x":[%b]}' % TOO_MANY, APPLY, id="apply"),
        pytest.param("DELETE", f"{CONFIGS}/a", b'{"dryRun":[%b]}' % TOO_MANY, "application/json", id="delete options"),
    ],
)
def test_more_values_than_a_server_looks_at_are_refused(
    method: str, path: str, body: bytes, media_type: str, ask: Asking
) -> None:
    ask.ok("POST", CONFIGS, config())

    status, refused = ask(method, path, body, headers={"content-type": media_type}, fieldManager="m")

    text = f"Request entity too large: limit is {MOST_VALUES} values"
    assert (status, refused["reason"], refused["message"]) == (413, "RequestEntityTooLarge", text)


def test_many_values_deep_in_an_object_are_refused(ask: Asking) -> None:
    """The owner of each value is recorded by its path, so the cost grows with the sum of the paths' lengths."""
    define(ask)
    deep: Object = {f"{index}": 1 for index in range(20_000)}
    for _ in range(150):
        deep = {"a": deep}

    assert ask("POST", WIDGETS, widget(spec=deep))[0] == 413


def test_what_is_stored_can_be_sent_back(ask: Asking) -> None:
    """The fields of a stored object and its managedFields have together at most as many values as a body may have."""
    half = MOST_VALUES // 2

    refused = ask("POST", CONFIGS, config("much", data={f"{index}": "" for index in range(half)}))
    made = ask.ok("POST", CONFIGS, config("less", data={f"{index}": "" for index in range(half - 100)}))

    assert refused[0] == 413
    assert ask.ok("PUT", f"{CONFIGS}/less", made) == made


def test_an_object_that_cannot_be_sent_back_for_its_size_is_not_stored(ask: Asking) -> None:
    ask.ok("POST", NODES, node("n"))
    path = f"{NODES}/n/status"
    images = [{"names": ["x" * 2_000_000]}]

    assert ask.patch(path, {"status": {"images": images}})[0] == 200
    status, refused = ask.patch(path, [{"op": "add", "path": "/status/images/-", "value": images[0]}], JSON_PATCH)

    assert (status, refused["message"]) == (500, "etcdserver: request is too large")


def test_copies_hold_no_more_values_than_a_body(ask: Asking) -> None:
    ask.ok("POST", CONFIGS, config())
    copies = [{"op": "copy", "from": "/x", "path": f"/x{index}"} for index in range(100)]

    assert ask.patch(f"{CONFIGS}/a", [{"op": "add", "path": "/x", "value": [[]] * 1000}, *copies], JSON_PATCH)[0] == 422


def test_an_answer_in_yaml_of_very_many_values_is_written_as_json(ask: Asking) -> None:
    """JSON takes a hundredth of the time to write, and a client that reads YAML can read it."""
    made = ask.ok("POST", CONFIGS, config(data={f"k{index}": f"{index}" for index in range(MOST_VALUES // 4 + 100)}))

    answer = ask.response("GET", f"{CONFIGS}/a", headers={"accept": "application/yaml"})

    assert answer.headers["content-type"] == "application/yaml"
    assert answer.body.startswith(b'{"kind":"ConfigMap"')
    assert yaml.load(answer.body, Loader=yaml.CSafeLoader) == made


# Work that grows no faster than what is sent


def test_an_operation_of_a_json_patch_costs_as_much_on_a_large_object_as_on_a_small_one() -> None:
    operations = [{"op": "add", "path": f"/data/x{index}", "value": 1} for index in range(2_000)]

    def patch(size: int) -> Callable[[], object]:
        document = {"data": {f"k{index}": "" for index in range(size)}}
        return lambda: jsonpatch.apply(document, operations)

    assert seconds(patch(40_000)) < 20 * seconds(patch(10))


def test_what_an_operation_copies_is_changed_by_later_ones_alone() -> None:
    document = {"a": {"b": [1]}}
    operations = [
        {"op": "add", "path": "/a/b/-", "value": 2},
        {"op": "copy", "from": "/a", "path": "/c"},
        {"op": "add", "path": "/a/b/-", "value": 3},
        {"op": "add", "path": "/c/b/0", "value": 0},
        {"op": "move", "from": "/a", "path": "/d"},
        {"op": "remove", "path": "/d/b/0"},
    ]

    assert jsonpatch.apply(document, operations) == {"c": {"b": [0, 1, 2]}, "d": {"b": [2, 3]}}
    assert document == {"a": {"b": [1]}}


def test_a_value_that_a_patch_adds_twice_is_two_values() -> None:
    value: Object = {}
    operations = [
        {"op": "add", "path": "/a", "value": value},
        {"op": "add", "path": "/b", "value": value},
        {"op": "add", "path": "/a/x", "value": 1},
    ]

    assert jsonpatch.apply({}, operations) == {"a": {"x": 1}, "b": {}}
    assert value == {}


def test_owners_without_end_are_merged_in_time_by_their_number(ask: Asking) -> None:
    ask.ok("POST", CONFIGS, config())

    def update(count: int) -> Callable[[], object]:
        entries = [
            {
                "manager": f"m{index}",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2020-01-01T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {f"f:k{index}": {}}},
            }
            for index in range(count)
        ]
        body = {"metadata": {"name": "a", "managedFields": entries}, "data": {"k": str(count)}}
        return lambda: ask.ok("PUT", f"{CONFIGS}/a", body)

    assert calls(update(800)) < 6 * calls(update(200))


def test_finalizers_are_compared_with_those_before_once_each() -> None:
    def finalizers(letter: str) -> list[str]:
        return [Compared(f"a.b/{letter}{index}") for index in range(2_000)]

    before = {"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": finalizers("x")}
    causes = list(metadata_causes(CONFIG_MAP, {**before, "finalizers": finalizers("y")}, before))

    assert [cause.reason for cause in causes] == 2 * ["FieldValueForbidden"]
    assert Compared.times < 20_000


def test_a_label_is_not_compared_with_each_value_of_a_selector() -> None:
    selector = LabelSelector.parse(f"a in ({','.join(f'v{index}' for index in range(5_000))})")

    assert selector.matches({"a": Compared("v4999")})
    assert not selector.matches({"a": Compared("w")})
    assert Compared.times < 100


def test_a_label_is_not_compared_with_each_requirement_of_a_selector() -> None:
    text = ",".join([*(f"a!=v{index}" for index in range(2_000)), *(f"!k{index}" for index in range(2_000))])
    labels = {"a": Compared("w"), "b": "x"}
    selector = LabelSelector.parse(text)

    assert calls(lambda: selector.matches(labels)) < 100
    assert selector.matches(labels)
    assert not selector.matches({"a": "v1999"})
    assert not selector.matches({"k1999": ""})


def test_a_value_is_not_compared_with_each_word_of_a_long_enum() -> None:
    schema = {"type": "array", "items": {"type": "string", "enum": [Compared(f"w{index}") for index in range(5_000)]}}

    assert not list(schema_causes(schema, ["w4999"] * 500))
    assert Compared.times < 10_000


@pytest.mark.parametrize("value", ["w9", 3, 2.0, None, [1], {"a": 1}])
def test_a_long_enum_holds_values_of_all_types(value: Any) -> None:
    schema = {"enum": [*(f"w{index}" for index in range(50)), 3, 2, None, [1], {"a": 1}]}

    assert not list(schema_causes(schema, value))
    assert [cause.reason for cause in schema_causes(schema, [value, 0])] == ["FieldValueNotSupported"]


def test_a_quantity_that_is_none_is_found_out_in_one_way_through_it() -> None:
    def refused(length: int) -> Callable[[], object]:
        return lambda: QUANTITY.fullmatch("1" * length + "x")

    assert seconds(refused(40_000)) < 40 * seconds(refused(4_000))


def test_long_names_are_not_remembered() -> None:
    class Name(str):
        """A string that can be waited for."""

    name = Name("x" * 400)
    gone = weakref.ref(name)
    qualified_name_problems(name)
    del name

    assert gone() is None


def test_a_path_of_long_names_is_told_only_with_a_fault() -> None:
    """Otherwise each field below a long name would cost time in proportion to the length of the name."""
    schema = {"additionalProperties": {"additionalProperties": {"type": "integer"}}}
    value = {"x" * 1_000_000: {f"{index}": index for index in range(2_000)}}
    short = {"x": value["x" * 1_000_000]}

    assert seconds(lambda: list(schema_causes(schema, value))) < 10 * seconds(
        lambda: list(schema_causes(schema, short))
    )


def test_a_quantity_that_no_number_can_hold_is_none(ask: Asking) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1" * 1_500_000 + "Ei"}}}

    status, refused = ask(
        "POST", "/api/v1/namespaces/default/persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": claim}
    )

    assert (status, refused["reason"]) == (400, "BadRequest")


# What the schemas of a kind may ask for


@pytest.mark.parametrize(
    "items",
    [
        pytest.param({**ANYTHING, "anyOf": [{"required": [f"x{index}"]} for index in range(2_000)]}, id="alternatives"),
        pytest.param({"type": "string", "pattern": "(x+x+)+y|(.*a){20}"}, id="a pattern"),
    ],
)
def test_an_object_that_takes_too_many_checks_is_refused(items: Object, ask: Asking) -> None:
    define(ask, version(schema=structure({"type": "object", "properties": {"a": {"type": "array", "items": items}}})))
    value: Any = "xa" * 1_000 if items["type"] == "string" else {}

    status, refused = ask("POST", WIDGETS, widget(spec={"a": [value] * 1_000}))

    assert (status, refused["reason"]) == (413, "RequestEntityTooLarge")
    assert ask("POST", WIDGETS, widget(spec={"a": ["xxy"] if items["type"] == "string" else [{"x7": 1}]}))[0] == 201


@pytest.mark.parametrize(
    "default", [pytest.param(["x" * 10_000], id="long"), pytest.param([str(n) for n in range(500)], id="many")]
)
def test_defaults_cannot_multiply_without_end(default: list[str], ask: Asking) -> None:
    fields = {f"d{index}": {"type": "string", "default": one} for index, one in enumerate(default)}
    items = {"type": "object", "properties": fields}
    define(ask, version(schema=structure({"type": "object", "properties": {"a": {"type": "array", "items": items}}})))

    assert ask("POST", WIDGETS, widget(spec={"a": [{}] * 10_000}))[0] == 413
    assert ask.ok("POST", WIDGETS, widget(spec={"a": [{}]}))["spec"]["a"] == [
        {f"d{index}": one for index, one in enumerate(default)}
    ]


@pytest.mark.parametrize(
    ("whole", "field"),
    [
        pytest.param(
            definition(
                version(
                    additionalPrinterColumns=[
                        {"name": f"c{index}", "type": "string", "jsonPath": ".spec.a"} for index in range(65)
                    ]
                )
            ),
            "spec.additionalPrinterColumns",
            id="columns",
        ),
        pytest.param(
            definition(names={"shortNames": [f"n{n}" for n in range(33)]}), "spec.names.shortNames", id="names"
        ),
        pytest.param(
            definition(
                version(
                    schema=structure(
                        {
                            "type": "array",
                            "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": [f"k{n}" for n in range(17)],
                            "items": {
                                "type": "object",
                                "required": [f"k{n}" for n in range(17)],
                                "properties": {f"k{n}": {"type": "string"} for n in range(17)},
                            },
                        }
                    )
                )
            ),
            "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-map-keys",
            id="keys",
        ),
    ],
)
def test_what_each_object_would_pay_for_is_limited_in_a_definition(whole: Object, field: str, ask: Asking) -> None:
    status, refused = ask("POST", DEFINITIONS, whole)

    causes = [(cause["reason"], cause["field"]) for cause in refused["details"]["causes"]]
    assert (status, causes) == (422, [("FieldValueTooMany", field)])


def test_a_definition_leaves_room_for_its_status(ask: Asking) -> None:
    """Otherwise it could be stored, but its status could not say that it is established."""
    fields = {f"f{index}": {"type": "string"} for index in range(MOST_VALUES // 2 - 10)}
    status = ask("POST", DEFINITIONS, definition(version(schema=structure({"type": "object", "properties": fields}))))[
        0
    ]
    few = dict(list(fields.items())[:25_000])
    made = define(ask, version(schema=structure({"type": "object", "properties": few})))

    assert status == 413
    assert conditions(made)["Established"][0] == "True"


# What a refusal says


def test_of_very_many_faults_the_first_are_told_and_the_others_counted(ask: Asking) -> None:
    owners = [{} for _ in range(1_000)]

    answer = ask.response("POST", CONFIGS, {"metadata": {"name": "a", "ownerReferences": owners}})
    refused = json.loads(answer.body)

    assert (answer.status, len(refused["details"]["causes"])) == (422, 100)
    assert refused["message"].endswith(": must not be empty, and 3,900 more]")


def test_the_search_for_faults_ends(ask: Asking) -> None:
    containers = [{} for _ in range(20_000)]

    answer = ask.response("POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": containers}})

    assert json.loads(answer.body)["message"].endswith(", and at least 9,900 more]")
    assert len(answer.body) < SHORT


@pytest.mark.parametrize(
    ("path", "obj"),
    [
        pytest.param(CONFIGS, {"metadata": {"name": "n" * 1_000_000}}, id="name"),
        pytest.param(CONFIGS, {"metadata": {"name": "a", "labels": {"!" * 500_000: "!" * 500_000}}}, id="label"),
        pytest.param(CONFIGS, {"metadata": {"name": "a", "finalizers": ["!" * 100] * 5_000}}, id="finalizers"),
        pytest.param(CONFIGS, {"metadata": {"name": "a"}, "data": {f"!{n}": "" for n in range(9_000)}}, id="keys"),
        pytest.param(LEASES, {**lease("a"), "spec": {"renewTime": "9" * 1_000_000}}, id="time"),
        pytest.param(CONFIGS, {"kind": "x" * 1_000_000, **config()}, id="kind"),
        pytest.param(NODES, node("n", spec={"taints": [{"key": "!" * 99, "effect": "e" * 99}] * 5_000}), id="taints"),
    ],
)
def test_a_refusal_is_short_whatever_was_sent(path: str, obj: Object, ask: Asking) -> None:
    answer = ask.response("POST", path, obj)

    assert 400 <= answer.status < 500
    assert len(answer.body) < SHORT
    assert " more" in json.loads(answer.body)["message"]


def test_a_wrong_word_does_not_quote_all_words_of_a_long_enum() -> None:
    schema = {"type": "array", "items": {"type": "string", "enum": [f"word{index}" for index in range(9_000)]}}
    first, *others = schema_causes(schema, ["x"] * 50)

    assert first.message.startswith('Unsupported value: "x": supported values: "word0", "word1", ')
    assert first.message.endswith(" more")
    assert len(first.message) < 20_000
    assert len(others) == 49


def test_of_very_many_unknown_fields_a_hundred_are_told(ask: Asking) -> None:
    """As in a real server."""
    body = {**config(), **{f"x{index}": 1 for index in range(500)}}

    status, refused = ask("POST", CONFIGS, body, fieldValidation="Strict")

    assert (status, refused["message"].count("unknown field")) == (400, 100)
    assert refused["message"].endswith('unknown field "x99"')


def test_of_very_many_repeated_fields_a_hundred_are_told(ask: Asking) -> None:
    """As in a real server."""
    body = b'{"metadata":{"name":"a"},"data":{' + b",".join(b'"a%d":"","a%d":""' % (n, n) for n in range(500)) + b"}}"

    status, refused = ask("POST", CONFIGS, body, fieldValidation="Strict")

    assert (status, refused["message"].count("duplicate field")) == (400, 100)


def test_of_very_many_conflicts_the_first_are_told_and_the_others_counted(ask: Asking) -> None:
    def applied(manager: str, value: str) -> tuple[int, Any]:
        data = {f"k{index:04}": value for index in range(500)}
        body = {"apiVersion": "v1", "kind": "ConfigMap", **config(data=data)}
        return ask.patch(f"{CONFIGS}/a", body, APPLY, fieldManager=manager)

    applied("one", "x")
    status, refused = applied("two", "y")

    assert (status, len(refused["details"]["causes"])) == (409, 100)
    assert refused["message"].startswith('Apply failed with 500 conflicts: conflicts with "one":\n- .data.k0000\n- ')
    assert refused["message"].endswith("\n- .data.k0099\nand 400 more")


def test_of_very_many_undeclared_fields_the_first_are_told_and_the_others_counted(ask: Asking) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", **config(), **{f"x{index}": 1 for index in range(500)}}

    status, refused = ask.patch(f"{CONFIGS}/a", body, APPLY, fieldManager="m")

    assert (status, refused["message"].count("field not declared in schema")) == (500, 100)
    assert refused["message"].endswith("\n  and 400 more")


def test_ordinary_refusals_tell_everything(ask: Asking) -> None:
    broken = pod("p", containers=[{"name": f"C{index}", "image": "i"} for index in range(30)])

    status, refused = ask("POST", PODS, broken)

    assert (status, len(refused["details"]["causes"])) == (422, 30)
    assert all(f"spec.containers[{index}].name: " in refused["message"] for index in range(30))


def test_the_guide_tells_the_numbers() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    section = guide.partition("## Limits of the embedded server")[2].partition("\n## ")[0]
    told = {
        "body of a request": f"{BODY_LIMIT >> 20} MiB",
        "values in a body": f"{MOST_VALUES:,}",
        "steps of the paths": f"{MOST_STEPS:,}",
        "stored object": f"{MOST_STORED >> 20} MiB of JSON and {MOST_VALUES:,} values",
        "operations in a JSON patch": f"{jsonpatch.MAX_OPERATIONS:,}",
        "copies by a JSON patch": f"{jsonpatch.MAX_COPIED >> 20} MiB and {MOST_VALUES:,} values",
        "fields of a protobuf message": f"{2 * MOST_VALUES:,}",
        "checks of one object": f"{MOST_CHECKS:,}",
        "name of a field manager": f"{MANAGER_LENGTH} bytes",
        "causes in a refusal": f"{MOST_TOLD}, and {MOST_SAID >> 10} KiB",
        "faults that are counted": f"{MOST_COUNTED:,}, and {MOST_READ >> 20} Mi characters",
        "text of one cause": f"{LONGEST >> 10} Ki characters",
        "message of a refusal": f"{(MOST_SAID + LONGEST) >> 10} Ki characters",
    }
    rows = [[cell.strip() for cell in row.split("|")[1:3]] for row in section.splitlines() if row.startswith("| ")]
    for start, limit in told.items():
        assert [cells[1] for cells in rows if cells[0].startswith(start)] == [limit], start
