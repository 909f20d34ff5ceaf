# SPDX-License-Identifier: Apache-2.0
"""Rules in CEL: no rule and no object stops the server, and a schema without rules costs nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kit.apiserver.asking import MERGE, Asking, Object
from kit.apiserver.defining import (
    DEFINITIONS,
    GROUP,
    WIDGETS,
    define_spec,
    definition,
    fields,
    structure,
    version,
    widget,
)
from kit.contract.engines import WITH_RE2

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.cel.library.libraries import LIBRARIES
from embedded_apiserver.custom import schema_structure
from embedded_apiserver.custom.validations import compiled, judged
from embedded_apiserver.custom.validations.compiled import rule_node, rules_of_definition
from embedded_apiserver.server import APIServer

RULES = "x-kubernetes-validations"
_FUNCTIONS = sorted(
    {function.name for library in LIBRARIES for function in library.functions if "@" not in function.name}
)
_LEAVES = (
    *("self", "oldSelf", "self.a", "self.b", "self.c", "self.d", "oldSelf.a", "self.?a", "x", "true", "null", "int"),
    *(
        "0",
        "1",
        "-1",
        "2u",
        "1.5",
        "9223372036854775807",
        "'x'",
        "''",
        "'('",
        "'%d'",
        "'1.2.3.4'",
        "b'a'",
        "dyn(self.a)",
    ),
    *("[]", "{}", "[1, 2]", "['a']", "{'a': 1}", "duration('1h')", "dyn(self.a)", "timestamp('2020-01-01T00:00:00Z')"),
)
_OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in")
_MACROS = ("all", "exists", "exists_one", "map", "filter", "sortBy", "optMap")
_METHODS = ("size", "contains", "startsWith", "matches", "getHours", "orValue", "value", "hasValue", *_FUNCTIONS)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(pair, st.sampled_from(_OPERATORS)).map(lambda one: f"({one[0][0]} {one[1]} {one[0][1]})"),
        st.tuples(inner, st.sampled_from(_METHODS)).map(lambda one: f"{one[0]}.{one[1]}()"),
        st.tuples(pair, st.sampled_from(_METHODS)).map(lambda one: f"{one[0][0]}.{one[1]}({one[0][1]})"),
        st.tuples(inner, st.sampled_from(("size", "string", "int", "type", "dyn", *_FUNCTIONS))).map(
            lambda one: f"{one[1]}({one[0]})"
        ),
        st.tuples(pair, st.sampled_from(_MACROS)).map(lambda one: f"{one[0][0]}.{one[1]}(x, {one[0][1]})"),
        pair.map(lambda one: f"{one[0]}[{one[1]}]"),
        pair.map(lambda one: f"[{one[0]}, {one[1]}]"),
        pair.map(lambda one: f"{{{one[0]}: {one[1]}}}"),
        st.tuples(inner, inner, inner).map(lambda one: f"({one[0]} ? {one[1]} : {one[2]})"),
        inner.map(lambda one: f"!{one}"),
        inner.map(lambda one: f"has({one}.a)"),
    )


RULE_TEXTS = st.one_of(
    st.recursive(st.sampled_from(_LEAVES), _larger, max_leaves=6),
    st.recursive(st.sampled_from(_LEAVES), _larger, max_leaves=6).map(lambda text: f"dyn({text}) != dyn(0)"),
    st.text(max_size=20),
)
SPEC = fields(
    a={"x-kubernetes-int-or-string": True},
    b={"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 9}, "x-kubernetes-list-type": "set"},
    c={"type": "object", "maxProperties": 5, "additionalProperties": {"type": "number"}},
    d={"type": "string", "format": "date-time", "nullable": True},
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "a": st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(max_size=5), st.none(), st.booleans()),
        "b": st.lists(st.text(max_size=5), max_size=6),
        "c": st.dictionaries(st.text(max_size=3), st.one_of(st.integers(-9, 9), st.floats(-1e9, 1e9)), max_size=6),
        "d": st.one_of(st.none(), st.sampled_from(("2020-01-01T00:00:00Z", "2020-13-01T00:00:00Z", ""))),
    },
)


@pytest.fixture(scope="module")
def ask_any() -> Iterator[Asking]:
    """A client of a server that all examples share."""
    server = APIServer(Simulation(0).host("apiserver"))
    yield Asking(server)
    server.close()


@pytest.mark.scenario("CX-07")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.tuples(RULE_TEXTS, st.none() | RULE_TEXTS, st.sampled_from([None, True]), SPECS, SPECS))
def test_no_rule_and_no_object_break_the_server(
    ask_any: Asking, data: tuple[str, str | None, bool | None, Object, Object]
) -> None:
    (rule, message, optional, before, after), ask = data, ask_any
    made: Object = {"rule": rule, "message": "refused"}
    if message is not None:
        made["messageExpression"] = message
    if optional:
        made["optionalOldSelf"] = True
    code, _ = ask("POST", DEFINITIONS, definition(version(schema=structure({**SPEC, RULES: [made]}))))
    assert code in (201, 422)
    if code == 422:
        return
    code, stored = ask("POST", WIDGETS, widget(spec=before))
    assert code in (201, 422), stored
    if code == 201:
        code, answer = ask("PUT", f"{WIDGETS}/w", {**stored, "spec": after})
        assert code in (200, 422), answer
    ask.ok("DELETE", f"{DEFINITIONS}/widgets.{GROUP}")


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("(" * 5_000 + "true" + ")" * 5_000, id="parentheses"),
        pytest.param("!" * 5_000 + "true", id="negations"),
        pytest.param(" && ".join(["true"] * 20_000), id="a long conjunction"),
        pytest.param("[" * 2_000 + "]" * 2_000 + " == []", id="lists"),
        pytest.param("self.a.matches('" + "(a*)*" * 2_000 + "$')", id="a pattern", marks=WITH_RE2),
        pytest.param("[1].all(a, " * 60 + "true" + ")" * 60, id="loops"),
        pytest.param("'" + "a" * 200_000 + "' == self.a", id="a text"),
        pytest.param("true ? " * 3_000 + "true" + " : false" * 3_000, id="choices"),
    ],
)
def test_a_rule_that_is_large_or_deep_gets_an_answer(ask: Asking, rule: str) -> None:
    schema = structure({**fields(a={"type": "string"}), RULES: [{"rule": rule}]})
    code, _ = ask("POST", DEFINITIONS, definition(version(schema=schema)))
    assert code in (201, 413, 422)


def test_a_schema_without_rules_compiles_nothing(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("an environment is made")

    monkeypatch.setattr(compiled, "_environment", never)
    monkeypatch.setattr(schema_structure, "rule_causes", never)
    define_spec(ask, fields(a={"type": "integer"}))
    ask.ok("POST", WIDGETS, widget(spec={"a": 1}))


@pytest.mark.scenario("CX-08")
def test_rules_are_compiled_once_for_all_objects(ask: Asking) -> None:
    define_spec(ask, {**fields(a={"type": "integer"}), RULES: [{"rule": "self.a > 0"}]})
    before = rules_of_definition.cache_info()
    for index in range(5):
        ask.ok("POST", WIDGETS, widget(f"w{index}", spec={"a": 1}))
    after = rules_of_definition.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 4)


def test_rules_of_a_part_alone_leave_the_others_alone() -> None:
    ruled: Object = {"type": "integer", RULES: [{"rule": "self > 0"}]}
    node = rule_node(fields(a=ruled, b={"type": "integer"}), is_root=False)
    assert node is not None
    assert (node.rules, list(node.properties), node.items, node.values) == ((), ["a"], None, None)
    assert rule_node(fields(b={"type": "integer"}), is_root=False) is None


@pytest.mark.scenario("CX-05")
def test_an_apply_is_held_to_the_rules_and_warned_of_old_faults(ask: Asking) -> None:
    define_spec(ask, fields(a={"type": "integer"}, b={"type": "integer"}))
    ask.ok("POST", WIDGETS, widget(spec={"a": 1}))
    name = f"{DEFINITIONS}/widgets.{GROUP}"
    stored = ask.ok("GET", name)
    spec = stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["a"][RULES] = [{"rule": "self > 3", "message": "more than 3"}]
    ask.ok("PUT", name, stored)

    def apply(a: int, b: int) -> tuple[int, str, str]:
        answer = ask.response(
            *("PATCH", f"{WIDGETS}/w", widget(spec={"a": a, "b": b})),
            headers={"content-type": "application/apply-patch+yaml"},
            fieldManager="test",
            force=True,
        )
        return answer.status, answer.headers.get("warning", ""), answer.body.decode()

    code, warning, _ = apply(1, 2)
    assert (code, warning) == (200, '299 - "spec.a: Invalid value: 1: more than 3"')
    code, warning, text = apply(2, 2)
    assert (code, warning) == (422, "")
    assert "spec.a: Invalid value: 2: more than 3" in text
    assert apply(4, 2)[:2] == (200, "")
    patched = ask.patch(f"{WIDGETS}/w", {"spec": {"a": 3}})
    assert patched[0] == 422


@pytest.mark.scenario("CX-08")
def test_the_costs_of_all_evaluations_for_one_object_are_limited(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    items = {"type": "integer", RULES: [{"rule": "self + self > 0"}]}
    define_spec(ask, fields(a={"type": "array", "maxItems": 9, "items": items}))
    monkeypatch.setattr(judged, "_TOTAL", 20)
    ask.ok("POST", WIDGETS, widget("few", spec={"a": [1, 1]}))

    code, answer = ask("POST", WIDGETS, widget("many", spec={"a": [1] * 9}))

    assert (code, answer["message"].count("running out of cost budget")) == (422, 1)


def test_a_rule_that_compares_with_the_old_value_does_not_hold_for_a_new_one(ask: Asking) -> None:
    define_spec(ask, fields(a={"type": "integer", RULES: [{"rule": "self == oldSelf"}]}))
    ask.ok("POST", WIDGETS, widget(spec={"a": 1}))

    answer = ask.response("PATCH", f"{WIDGETS}/w", {"spec": {"a": 2}}, headers={"content-type": MERGE})

    assert answer.status == 422
