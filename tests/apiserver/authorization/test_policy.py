# SPDX-License-Identifier: Apache-2.0
"""Rules: what each allows, and which rights a set of rules lacks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_apiserver.authorization.attributes import Attributes
from embedded_apiserver.authorization.policy import EVERYTHING, Rule, allows, uncovered
from embedded_apiserver.bounds import MOST_COMPARED, MOST_COUNTED
from embedded_apiserver.status import StatusError
from embedded_apiserver.users import User

USER = User("jane")


def asked(verb: str, resource: str = "pods", group: str = "", *, part: str = "", name: str = "") -> Attributes:
    return Attributes(USER, verb, group, resource, part, "", name)


def about(resources: str, verbs: str = "get", groups: str = "core", names: str = "") -> Rule:
    api_groups = tuple("" if group == "core" else group for group in groups.split())
    named = tuple(names.split()) or None
    return Rule(tuple(verbs.split()), api_groups, tuple(resources.split()), named)


@pytest.mark.parametrize(
    ("rule", "request_", "allowed"),
    [
        pytest.param(about("pods"), asked("get"), True, id="the verb and the resource"),
        pytest.param(about("pods"), asked("list"), False, id="another verb"),
        pytest.param(about("pods", "*"), asked("foo"), True, id="any verb"),
        pytest.param(about("pods"), asked("get", "nodes"), False, id="another resource"),
        pytest.param(about("*"), asked("get", "nodes", part="status"), True, id="any resource and part"),
        pytest.param(about("pods"), asked("get", group="apps"), False, id="another group"),
        pytest.param(about("pods", groups="*"), asked("get", group="apps"), True, id="any group"),
        pytest.param(about("pods"), asked("get", part="status"), False, id="a part is not in the whole"),
        pytest.param(about("pods/status"), asked("get", part="status"), True, id="a part"),
        pytest.param(about("pods/status"), asked("get"), False, id="the whole is not in a part"),
        pytest.param(about("*/scale"), asked("get", "x", part="scale"), True, id="a part of all"),
        pytest.param(about("*/scale"), asked("get", "x", part="upscale"), False, id="a part whose name ends so"),
        pytest.param(about("pods/*"), asked("get", part="status"), False, id="no pattern of parts"),
        pytest.param(about("pods", names="a b"), asked("get", name="b"), True, id="a name"),
        pytest.param(about("pods", names="a b"), asked("get", name="c"), False, id="another name"),
        pytest.param(about("pods", names="a b"), asked("get"), False, id="a name is needed"),
        pytest.param(Rule(("get",), urls=("/a",)), Attributes(USER, "get", path="/a"), True, id="a path"),
        pytest.param(Rule(("get",), urls=("/a",)), Attributes(USER, "get", path="/a/b"), False, id="below a path"),
        pytest.param(Rule(("get",), urls=("/a/*",)), Attributes(USER, "get", path="/a/b"), True, id="a pattern"),
        pytest.param(Rule(("get",), urls=("/a/*",)), Attributes(USER, "get", path="/a"), False, id="above a pattern"),
        pytest.param(Rule(("get",), urls=("*",)), asked("get"), False, id="a path is no resource"),
        pytest.param(about("*", "*", "*"), Attributes(USER, "get", path="/a"), False, id="a resource is no path"),
        pytest.param(Rule(), asked("get"), False, id="nothing"),
    ],
)
def test_a_rule_allows(rule: Rule, request_: Attributes, allowed: bool) -> None:
    assert allows(rule, request_) == allowed


words = st.lists(st.sampled_from(["", "a", "b", "a/x", "*/x", "*"]), max_size=2).map(tuple)
rules = st.builds(
    Rule, words, words, words, words, st.lists(st.sampled_from(["/a", "/a*", "*"]), max_size=2).map(tuple)
)
requests = st.builds(
    Attributes,
    st.just(USER),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["", "a"]),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["", "x"]),
    st.just(""),
    st.sampled_from(["", "a"]),
    st.sampled_from(["", "/a", "/ab"]),
)


@given(st.lists(rules, max_size=3), rules, requests)
def test_a_covered_rule_allows_nothing_that_its_cover_does_not(
    owned: list[Rule], wanted: Rule, request: Attributes
) -> None:
    if not uncovered(owned, [wanted]).first and allows(wanted, request):
        assert any(allows(rule, request) for rule in owned)


@given(st.lists(rules, max_size=3))
def test_everything_covers_every_rule_and_each_set_covers_itself(given_rules: list[Rule]) -> None:
    assert uncovered(EVERYTHING, given_rules) == ([], "")
    assert uncovered(given_rules, given_rules) == ([], "")


def test_missing_rights_are_told_one_line_for_each_resource_and_path() -> None:
    wanted = [about("pods nodes", "get list"), Rule(("get", "post"), urls=("/a",)), about("pods", "get", names="x")]

    assert list(map(str, uncovered([about("nodes", "get")], wanted).first)) == [
        '{APIGroups:[""], Resources:["nodes"], Verbs:["list"]}',
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["x"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
        '{NonResourceURLs:["/a"], Verbs:["get"]}',
        '{NonResourceURLs:["/a"], Verbs:["post"]}',
    ]


def product_of(count: int) -> Rule:
    texts = tuple(map(str, range(count)))
    return Rule(texts, texts, texts, texts)


def test_a_rule_of_very_many_missing_rights_is_told_by_the_first_of_them() -> None:
    missing = uncovered([about("nodes")], [product_of(300)])  # 8,100,000,000 rights

    assert sum(len(rule.verbs or ()) for rule in missing.first) == MOST_COUNTED
    assert missing.more


def test_rules_with_more_rights_than_can_be_compared_are_refused() -> None:
    wanted = product_of(40)

    with pytest.raises(StatusError) as refused:
        uncovered([wanted], [wanted])

    assert refused.value.code == 413
    assert f"{MOST_COMPARED:,} steps" in str(refused.value)


def test_paths_that_are_compared_with_very_many_are_counted() -> None:
    paths = Rule(("get",), urls=tuple(f"/{number}" for number in range(1_000)))

    with pytest.raises(StatusError, match="more than"):
        uncovered([paths], [paths])
