# SPDX-License-Identifier: Apache-2.0
"""The structural schema of every kind of field, and the types that have none."""

from __future__ import annotations

import dataclasses
import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pytest
from kit.crd.cabins import Cabin, Heater, Lodge
from kubernetes.client import V1alpha1StorageVersion, V1CustomResourceDefinition
from pydantic import BaseModel

from controller_runtime.crd import Meta, Struct, list_map, schema_of
from controller_runtime.crd.patterns import problem_of
from controller_runtime.crd.structural import schema_of_type

LODGE: dict[str, Any] = schema_of(Lodge)["properties"]["spec"]["properties"]
TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
OPEN = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


@pytest.mark.parametrize(
    ("field", "schema"),
    [
        ("clusterIP", TEXT),
        ("color", {**TEXT, "enum": ["red", "blue"], "default": "red"}),
        (
            "roof",
            {
                "type": "object",
                "properties": {"material": TEXT, "slopeDegrees": {**WHOLE, "default": 30}},
                "required": ["material"],
            },
        ),
        ("garden", {"type": "object", "properties": {"trees": {**WHOLE, "default": 0}}}),
        ("port", INT_OR_STRING),
        ("replicas", {"type": "integer", "format": "int32", "default": 1}),
        ("opened", {**TEXT, "format": "date-time"}),
        ("built", {**TEXT, "format": "date"}),
        ("poll", {**TEXT, "default": "1m"}),
        (
            "code",
            {
                **TEXT,
                "pattern": "^[a-z]+$",
                "maxLength": 8,
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}],
            },
        ),
        ("nickname", {**TEXT, "nullable": True}),
        ("owner", {**TEXT, "nullable": True}),
        ("guests", {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}),
        ("rooms", {"type": "array", "items": WHOLE, "maxItems": 3, "x-kubernetes-list-type": "atomic"}),
        (
            "weights",
            {
                "type": "object",
                "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1, "exclusiveMaximum": True},
            },
        ),
        ("extra", {"type": "object", OPEN: True}),
        ("anything", {OPEN: True}),
        ("open", {"type": "object", "properties": {"trees": {**WHOLE, "default": 0}}, OPEN: True}),
        ("embedded", {"type": "object", OPEN: True, "x-kubernetes-embedded-resource": True}),
        ("picture", {**TEXT, "format": "byte"}),
    ],
)
def test_each_type_of_field_has_its_schema(field: str, schema: dict[str, Any]) -> None:
    assert LODGE[field] == schema


def test_a_field_without_a_default_is_required_and_only_that_one_is() -> None:
    assert schema_of(Lodge)["properties"]["spec"]["required"] == ["owner"]
    assert schema_of(Lodge)["required"] == ["spec"]


def test_all_rules_of_a_field_are_carried() -> None:
    rules = LODGE["doors"]["x-kubernetes-validations"]

    assert [rule["rule"] for rule in rules] == ["self.size() < 3", "self.all(d, d.width < 200)"]


def test_exclusive_bounds_are_flags_beside_the_bound() -> None:
    width = LODGE["doors"]["items"]["properties"]["width"]

    assert width == {**WHOLE, "minimum": 0, "exclusiveMinimum": True, "default": 80}


def test_docstrings_are_descriptions() -> None:
    schema = schema_of(Cabin)
    spec = schema["properties"]["spec"]

    assert schema["description"] == "A cabin in the woods."
    assert spec["description"] == "The cabin that is wanted."
    assert spec["properties"]["beds"]["description"] == "The number of beds, without cots."


def test_a_model_of_pydantic_has_a_structural_schema() -> None:
    assert LODGE["heater"] == {
        "type": "object",
        "properties": {
            "fuelType": {**TEXT, "enum": ["wood", "gas"], "default": "wood"},
            "power": {
                "type": "integer",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 50,
                "exclusiveMaximum": True,
            },
            "vents": {"type": "array", "items": TEXT},
        },
        "required": ["power"],
    }
    assert schema_of_type(Heater, "Heater") == LODGE["heater"]


def test_a_model_of_the_official_client_has_the_recorded_schema() -> None:
    containers = LODGE["template"]["properties"]["spec"]["properties"]["containers"]

    assert containers["items"]["required"] == ["name"]
    assert "$ref" not in str(LODGE["template"])
    assert set(LODGE["template"]["properties"]["metadata"]["properties"]) >= {"labels", "annotations"}


class Snake(Struct, rename=None):
    two_words: int = 0


@dataclasses.dataclass
class Plain:
    two_words: int = 0


class SnakeModel(BaseModel):
    two_words: int = 0


class Tree(Struct):
    leaves: list[Tree] = []


class Forest(Struct):
    trees: dict[str, Tree] = {}


class Tagged(Struct, tag=True):
    size: int = 0


class Strict(Struct, forbid_unknown_fields=True):
    size: int = 0


class Row(Struct, array_like=True):
    size: int = 0


class Pair(NamedTuple):
    left: int
    right: int


class Dict(TypedDict):
    some_key: int


class Node(BaseModel):
    children: list[Node] = []


class Case(BaseModel):
    size: int | list[int] = 0


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (Snake, r"X\.two_words: Snake\.two_words would be written with an underscore; derive Snake from Struct"),
        (Plain, r"X\.two_words: Plain\.two_words would be written with an underscore"),
        (Dict, r"X\.some_key: Dict\.some_key would be written with an underscore"),
        (SnakeModel, r"X\.two_words: 'two_words' would be written with an underscore; give the model an alias"),
        (Tree, r"X\.leaves\[\] is of Tree, which contains it: a structural schema cannot be recursive"),
        (Forest, r"X\.trees\[…\]\.leaves\[\] is of Tree"),
        (Node, r"X\.children\[\]: Node contains itself"),
        (Case, r"X\.size: this union has no structural schema"),
        (Tagged, "Tagged has a tag"),
        (Strict, "Strict forbids unknown fields"),
        (Row, "Row is written as a list"),
        (int | bool, "a union of Bool | Int has no structural schema; declare a class"),
        (datetime.timedelta, "TimeDelta has no structural schema; declare Duration, a text such as '1h30m'"),
        (Decimal, "Decimal has no structural schema; declare Quantity"),
        (Pair, "NamedTuple has no structural schema; declare a class with fields"),
        (complex, "complex is not a class with fields; make it a Struct"),
        (dict[int, str], r"the keys of a map are texts in JSON: declare dict\[str, …\]"),
        (Literal[1, "a"], "the values of an enum must all be texts, or all be whole numbers"),
        (Annotated[str, Meta(pattern="^(?=a)")], r"the pattern '\^\(\?=a\)' has '\(\?=', which a server's patterns"),
        (
            V1alpha1StorageVersion,
            "there is no recorded schema of V1alpha1StorageVersion; declare the fields that you need",
        ),
        (V1CustomResourceDefinition, r"JSONSchemaProps contains itself, .* make it a JSONObject"),
    ],
)
def test_a_type_without_a_structural_schema_is_refused_by_path(cls: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        schema_of_type(cls, "X")


def test_a_name_that_is_not_defined_yet_is_named() -> None:
    class Local(Struct):
        later: Later  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ValueError, match="'Later' is not defined; define it in the module"):
        schema_of_type(Local, "X")


@pytest.mark.parametrize(
    ("pattern", "foreign"),
    [
        (r"^[a-z]+(\.[a-z]+)*$", False),
        (r"[(?=]", False),
        (r"\(?=", False),
        (r"[]*+]+", False),
        (r"(?P<x>a)", False),
        (r"(?:a|b)*?", False),
        (r"\d{2,3}\\1", False),
        (r"(a)\1", True),
        (r"a(?!b)", True),
        (r"(?<=a)b", True),
        (r"(?<!a)b", True),
        (r"(?P<x>a)(?P=x)", True),
        (r"a*+", True),
        (r"(?>a)", True),
    ],
)
def test_patterns_that_re2_lacks_are_found(pattern: str, foreign: bool) -> None:
    assert bool(problem_of(pattern)) is foreign


def test_the_list_of_the_patterns_above_is_the_truth() -> None:
    re2 = pytest.importorskip("re2")
    for pattern in (r"(a)\1", r"a(?!b)", r"(?<=a)b", r"(?P<x>a)(?P=x)", r"a*+", r"(?>a)"):
        with pytest.raises(re2.error):
            re2.compile(pattern)


class Keyed(Struct):
    items: Annotated[list[dict[str, str]], list_map("name")] = []


def test_a_struct_of_msgspec_needs_no_base_of_ours() -> None:
    class Own(msgspec.Struct, rename="camel"):
        two_words: int = 0

    assert schema_of_type(Own, "Own")["properties"] == {"twoWords": {**WHOLE, "default": 0}}
