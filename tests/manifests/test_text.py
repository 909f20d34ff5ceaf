# SPDX-License-Identifier: Apache-2.0
"""Every JSON object is written as YAML that reads as the same object, and as a template that renders to it."""

from __future__ import annotations

from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
import yaml
from kit.manifests.go_templates import render

from controller_runtime.manifests.text import ABSENT, Bare, ToYaml, When, document, literal, when

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], include_characters="\n"), max_size=30)
words = st.sampled_from(
    [
        "yes",
        "N",
        ".inf",
        "1m",
        "64Mi",
        "0o7",
        "08",
        "1e3",
        "1_000",
        "0x1f",
        "1:30",
        "~",
        "null",
        "=",
        "<<",
        "- a",
        "a: b",
        "{{",
        "{{ x }}",
        "}}",
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | texts | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | words, inner, max_size=3),
    max_leaves=12,
)


@hypothesis.settings(max_examples=40)
@hypothesis.given(st.dictionaries(texts, values, max_size=4))
def test_a_document_reads_as_the_object_that_it_was_made_of(value: dict[str, Any]) -> None:
    # Lists of lists occur in no manifest.
    hypothesis.assume(not _has_nested_lists(value))
    assert (yaml.safe_load(document(value)) or {}) == value


@hypothesis.given(st.dictionaries(texts, texts | words, min_size=1, max_size=3))
def test_a_template_renders_to_the_literal_texts_in_it(value: dict[str, str]) -> None:
    rendered = render(document(literal(value), template=True), {})

    assert yaml.safe_load(rendered) == value


def _has_nested_lists(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_nested_lists(one) for one in value.values())
    return isinstance(value, list) and any(isinstance(one, list) or _has_nested_lists(one) for one in value)


def test_fields_and_elements_are_there_if_their_condition_holds() -> None:
    value = {
        "a": when(".Values.on", {"b": 1}),
        "c": ["x", when(".Values.on", "y"), when(".Values.on", {"z": 2, "w": 3})],
        "d": when(True, 4),
        "e": when(False, 5),
        "f": ABSENT,
    }
    template = document(value, template=True)

    on = yaml.safe_load(render(template, {"Values": {"on": True}}))
    off = yaml.safe_load(render(template, {"Values": {"on": False}}))

    assert on == {"a": {"b": 1}, "c": ["x", "y", {"z": 2, "w": 3}], "d": 4}
    assert off == {"c": ["x"], "d": 4}
    assert template.count("if") == 2


def test_a_part_of_the_values_is_written_where_it_belongs() -> None:
    value = {
        "a": [{"one": ToYaml(".Values.x"), "two": ToYaml(".Values.y", optional=True), "three": Bare("{{ .Values.n }}")}]
    }
    template = document(value, template=True)

    given = yaml.safe_load(render(template, {"Values": {"x": {"k": ["v"]}, "y": [1], "n": 7}}))
    without = yaml.safe_load(render(template, {"Values": {"x": {}, "y": [], "n": 7}}))

    assert given == {"a": [{"one": {"k": ["v"]}, "two": [1], "three": 7}]}
    assert without == {"a": [{"one": {}, "three": 7}]}


def test_an_element_that_begins_with_a_condition_is_refused() -> None:
    with pytest.raises(ValueError, match="the first field of an element"):
        document({"a": [{"b": When(".Values.on", 1), "c": 2}]}, template=True)


@pytest.mark.parametrize("template", ["{{ range .Values.x }}{{ end }}", "{{ include .Values.x }}", "{{ .Values.y }}"])
def test_the_renderer_of_these_tests_refuses_what_it_does_not_know(template: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        render(template, {"Values": {"x": 1}})


@pytest.mark.parametrize(
    "character", ["\x7f", "\x85", "\x9f", "\u2028", "\u2029", "\ufeff", "\ue000", "\ufffe", "\uffff"]
)
def test_a_character_that_yaml_does_not_keep_is_read_back_as_it_was(character: str) -> None:
    text = f"a{character}b"
    value = {text: text, "list": [text, {text: text}], "lines": f"{text}\n{text}"}

    assert yaml.safe_load(document(value)) == value
