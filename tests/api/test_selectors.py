# SPDX-License-Identifier: Apache-2.0
"""Selectors: their grammar, the refusals, and which objects they select."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.selectors import FieldRequirement, FieldSelector, LabelSelector

words = st.from_regex(r"[a-z0-9]([-a-z0-9_.]{0,6}[a-z0-9])?", fullmatch=True)
values = st.one_of(st.just(""), words)
label_terms = st.one_of(
    words,
    st.builds("!{}".format, words),
    st.builds("{}{}{}".format, words, st.sampled_from(["=", "==", "!=", " = "]), values),
    st.builds("{}{}{}".format, words, st.sampled_from("<>"), st.integers(0, 10**6)),
    st.builds(
        lambda key, operator, items: f"{key} {operator} ({','.join(items)})",
        words,
        st.sampled_from(["in", "notin"]),
        st.lists(values, max_size=3),
    ),
)
label_maps = st.dictionaries(words, st.one_of(values, st.integers(0, 10**6).map(str)), max_size=5)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        pytest.param("", "", id="everything"),
        pytest.param("b=1,a", "a,b=1", id="sorted by key"),
        pytest.param("a==b", "a=b", id="two signs mean one"),
        pytest.param(" a =\tb , ! c ", "a=b,!c", id="white space is free"),
        pytest.param("a in (y, x,y)", "a in (x,y)", id="a set"),
        pytest.param("x in (foo,,baz),y,z notin ()", "x in (,baz,foo),y,z notin ()", id="the empty value"),
        pytest.param("in in (in,notin)", "in in (in,notin)", id="key words are words"),
        pytest.param("a=,b", "a=,b", id="nothing is the empty value"),
        pytest.param("example.com/a!=b", "example.com/a!=b", id="a key with a prefix"),
        pytest.param("a>1,a<9", "a>1,a<9", id="numbers"),
    ],
)
def test_label_selectors_are_read_and_printed_in_normal_form(text: str, normal: str) -> None:
    assert str(LabelSelector.parse(text)) == normal


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a == b=c", "found '=', expected: ',' or 'end of string'", id="recorded"),
        pytest.param("=a", "found '=', expected: !, identifier, or 'end of string'", id="no key"),
        pytest.param("a,", "found '', expected: identifier after ','", id="nothing after a comma"),
        pytest.param("a,,b", "found ',', expected: identifier after ','", id="two commas"),
        pytest.param("!a=b", "found '=', expected: ',' or 'end of string'", id="absent and equal"),
        pytest.param("!", "unable to parse requirement: found '', expected: identifier", id="nothing absent"),
        pytest.param("a b", "unable to parse requirement: found 'b', expected: in, notin, =", id="no operator"),
        pytest.param("a in x", "unable to parse requirement: found 'x' expected: '('", id="no parenthesis"),
        pytest.param("a in (x", "unable to parse requirement: found '', expected: ',' or ')'", id="not closed"),
        pytest.param(
            "a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier", id="not begun"
        ),
        pytest.param("a in (x,", "unable to parse requirement: found '', expected: ',', or identifier", id="not ended"),
        pytest.param("a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'", id="no comma"),
        pytest.param("a=(", "unable to parse requirement: found '(', expected: identifier", id="no value"),
        pytest.param("a>b", 'unable to parse requirement: values[0]: Invalid value: "b": for', id="no number"),
        pytest.param("-a=b", 'unable to parse requirement: <nil>: Invalid value: "-a": name part must', id="bad key"),
        pytest.param("a=-b", 'unable to parse requirement: values[0][a]: Invalid value: "-b": a valid', id="bad value"),
        pytest.param(f"a={'x' * 64}", "unable to parse requirement: values[0][a]: Invalid value:", id="long value"),
    ],
)
def test_label_selectors_that_cannot_be_read_are_refused_in_the_words_of_the_api(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  # the words are compared below
        LabelSelector.parse(text)

    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        pytest.param("", True, id="everything"),
        pytest.param("app=web", True, id="equal"),
        pytest.param("app=db", False, id="another value"),
        pytest.param("app!=db,none!=x", True, id="a missing label differs"),
        pytest.param("app in (db,web)", True, id="in"),
        pytest.param("none in (a)", False, id="a missing label is in no set"),
        pytest.param("app notin (db),none notin (a)", True, id="notin"),
        pytest.param("app,!none", True, id="there and not there"),
        pytest.param("!app", False, id="there after all"),
        pytest.param("empty=", True, id="the empty value"),
        pytest.param("none=", False, id="a missing label is not empty"),
        pytest.param("size>9,size<11", True, id="numbers, not texts"),
        pytest.param("app>1", False, id="no number is never greater"),
        pytest.param("app=web,size=11", False, id="all have to hold"),
    ],
)
def test_label_selectors_select(text: str, selected: bool) -> None:
    labels = {"app": "web", "size": "10", "empty": ""}

    assert LabelSelector.parse(text).matches(labels) is selected


@given(st.lists(label_terms, max_size=4).map(",".join), label_maps)
def test_a_label_selector_survives_its_own_text(text: str, labels: dict[str, str]) -> None:
    selector = LabelSelector.parse(text)

    again = LabelSelector.parse(str(selector))

    assert again == selector
    assert again.matches(labels) is selector.matches(labels)
    assert selector.is_everything is (text == "")


def read(text: str) -> LabelSelector | str:
    try:
        return LabelSelector.parse(text)
    except ValueError as error:
        return str(error)


@given(st.text(alphabet="ab1-/.,=!<>() \tin", max_size=20))
def test_any_text_is_read_or_refused_with_one_line(text: str) -> None:
    found = read(text)

    if isinstance(found, LabelSelector):
        assert read(str(found)) == found
    else:
        assert len(found.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        pytest.param("", [], id="everything"),
        pytest.param("a.b=c,d!=e,f==g", [("a.b", "c", True), ("d", "e", False), ("f", "g", True)], id="operators"),
        pytest.param("a=", [("a", "", True)], id="the empty text"),
        pytest.param(",a=b,", [("a", "b", True)], id="empty terms are nothing"),
        pytest.param(r"a=x\,y\=z\\,b=c", [("a", "x,y=z\\", True), ("b", "c", True)], id="escapes"),
    ],
)
def test_field_selectors_are_read(text: str, requirements: list[tuple[str, str, bool]]) -> None:
    assert FieldSelector.parse(text).requirements == tuple(FieldRequirement(*one) for one in requirements)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a", "invalid selector: 'a'; can't understand 'a'", id="no operator"),
        pytest.param("a=b=c", "invalid field selector: unescaped character in value: 61", id="a bare sign"),
        pytest.param(r"a=\n", r"invalid field selector: invalid escape sequence: \n", id="no such escape"),
        pytest.param("a=b\\", "invalid field selector: invalid escape sequence: \\", id="nothing escaped"),
    ],
)
def test_field_selectors_that_cannot_be_read_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  # the words are compared below
        FieldSelector.parse(text)

    assert str(refused.value) == problem


def test_field_selectors_read_a_missing_field_as_the_empty_text() -> None:
    fields = {"spec.nodeName": "n"}

    assert FieldSelector.parse("spec.nodeName=n,status.phase=").matches(fields)
    assert FieldSelector.parse("status.phase!=Running").matches(fields)
    assert not FieldSelector.parse("spec.nodeName!=n").matches(fields)
    assert FieldSelector.parse("").is_everything


@given(st.lists(st.builds(FieldRequirement, st.from_regex(r"[a-z.]+", fullmatch=True), st.text(), st.booleans())))
def test_a_field_selector_survives_its_own_text(requirements: list[FieldRequirement]) -> None:
    selector = FieldSelector(tuple(requirements))

    assert FieldSelector.parse(str(selector)) == selector


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("held", "text"),
    [
        pytest.param({}, "", id="everything"),
        pytest.param({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2", id="labels"),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]}, "a in (x,y)", id="in"
        ),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, "a notin (x)", id="not"
        ),
        pytest.param({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a", id="exists"),
        pytest.param({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, "!a", id="does not exist"),
    ],
)
def test_a_selector_that_an_object_holds_is_the_one_of_its_text(held: dict[str, Any], text: str) -> None:
    assert LabelSelector.from_object(held) == LabelSelector.parse(text)


def test_an_expression_with_an_unknown_operator_is_refused() -> None:
    with pytest.raises(ValueError, match="'Near' is not an operator"):
        LabelSelector.from_object(expression("a", "Near"))
