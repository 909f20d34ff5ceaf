# SPDX-License-Identifier: Apache-2.0
"""Sets of fields and their encoding, by tables of examples and by properties."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_apiserver.typed.fieldset import contains, decode, encode, key_step, message_order, text_of, value_step

STEPS = st.one_of(
    st.sampled_from(["f:a", "f:b", "f:metadata.name", "i:0"]),
    st.dictionaries(
        st.sampled_from(["name", "port"]), st.one_of(st.integers(0, 99), st.text(max_size=3)), min_size=1
    ).map(key_step),
    st.one_of(st.integers(), st.text(max_size=3), st.booleans()).map(value_step),
)
PATHS = st.lists(STEPS, min_size=1, max_size=4).map(tuple)
FIELDS = st.frozensets(PATHS, max_size=12)


@given(FIELDS)
def test_a_set_is_the_same_after_a_trip_over_the_wire(fields: frozenset[tuple[str, ...]]) -> None:
    assert decode(encode(fields)) == fields


@given(FIELDS)
def test_a_document_is_the_same_after_it_was_read(fields: frozenset[tuple[str, ...]]) -> None:
    document = encode(fields)

    assert list(_flat(encode(decode(document)))) == list(_flat(document))


@given(FIELDS, PATHS)
def test_a_document_contains_what_its_set_does(fields: frozenset[tuple[str, ...]], path: tuple[str, ...]) -> None:
    document = encode(fields)

    assert all(contains(document, one) for one in fields)
    assert contains(document, path) is (path in fields)


def _flat(document: Any) -> Any:
    for step, below in document.items():
        yield step
        yield from _flat(below)


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"f:a": {}}, [("f:a",)], id="a field"),
        pytest.param({"f:a": {"f:b": {}}}, [("f:a", "f:b")], id="only what is below"),
        pytest.param({"f:a": {".": {}, "f:b": {}}}, [("f:a",), ("f:a", "f:b")], id="a field and what is below"),
        pytest.param({'k:{"b": 1, "a": "x"}': {}}, [('k:{"a":"x","b":1}',)], id="keys are spelled in one way"),
    ],
)
def test_fields_v1_tells_paths(document: dict[str, Any], paths: list[tuple[str, ...]]) -> None:
    assert decode(document) == frozenset(paths)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"a": {}}, id="a step without its kind"),
        pytest.param({"x:a": {}}, id="a kind of step that does not exist"),
        pytest.param({"k:[1]": {}}, id="keys that are no object"),
        pytest.param({"v:{": {}}, id="a value that is no JSON"),
        pytest.param({"i:one": {}}, id="an index that is no number"),
        pytest.param({"f:a": 1}, id="a number where steps belong"),
    ],
)
def test_what_is_no_fields_v1_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected an object|is no step to a field"):
        decode(document)


def test_steps_are_told_fields_first_then_keys_then_values_and_numbers_by_size() -> None:
    steps = ['v:"a"', 'k:{"port":443}', 'k:{"port":80}', "f:b", "f:a", 'k:{"port":"x"}']

    assert list(encode((step,) for step in steps)) == [
        "f:a",
        "f:b",
        'k:{"port":80}',
        'k:{"port":443}',
        'k:{"port":"x"}',
        'v:"a"',
    ]


def test_a_path_is_told_as_messages_name_it() -> None:
    path = ("f:spec", "f:containers", 'k:{"name":"c","port":80}', "f:args", 'v:"x"', "i:1")

    assert text_of(path) == '.spec.containers[name="c",port=80].args[="x"][1]'


def test_messages_tell_what_ends_at_a_level_before_what_goes_on() -> None:
    paths = [("f:a", "f:x"), ("f:b",), ("f:a", "f:b", "f:c")]

    assert sorted(paths, key=message_order) == [("f:b",), ("f:a", "f:x"), ("f:a", "f:b", "f:c")]
