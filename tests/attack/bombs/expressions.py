# SPDX-License-Identifier: Apache-2.0
"""Expressions of policies and of custom resources, which are evaluated for an object or a text of a client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from apimachinery.http import HTTPRequest
from bombs.making import CONFIGS, DEFINITIONS, WIDGETS, Before, Object, ask, bomb, config, definition

_GROUP = "admissionregistration.k8s.io"
_POLICIES = f"/apis/{_GROUP}/v1"
_THRASHING = "(a|b)*a" + "[ab]" * 30 + "c"
"""A pattern with more states than RE2 keeps."""


def _policy(name: str, *expressions: str, variables: Iterable[tuple[str, str]] = ()) -> list[HTTPRequest]:
    """Return the requests that store a policy of config maps, and its binding."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": key, "expression": text} for key, text in variables],
        "validations": [{"expression": text} for text in expressions],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        ask("POST", f"{_POLICIES}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec}),
        ask("POST", f"{_POLICIES}/validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": binding}),
    ]


def _judged(name: str, expression: str, **data: Callable[[], str]) -> None:
    """Add a bomb: a config map with these texts, judged by one expression, which knows them as `a` and `b`."""
    known = [(key, f"object.data.{key}") for key in data]
    text = expression
    for key in data:
        text = text.replace(f"${key}", f"variables.{key}")

    @bomb(f"expressions: {name}", lambda: _policy("p", text, variables=known))
    def _() -> HTTPRequest:
        return ask("POST", CONFIGS, config(data={key: made() for key, made in data.items()}))


def _numbers(count: int, first: int = 0) -> Callable[[], str]:
    return lambda: ",".join(map(str, range(first, first + count)))


_judged("a long text for each character", "$a.replace('a', $b) != ''", a=lambda: "a" * 20_000, b=lambda: "b" * 200_000)
_judged("a longer text for each", "$a.replace('a', $b) != ''", a=lambda: "a" * 400_000, b=lambda: "b" * 400_000)
_judged("a text of every gap", "$a.replace('', $b) != ''", a=lambda: "a" * 20_000, b=lambda: "b" * 200_000)
_judged("split and joined", "$a.split('').join($b) != ''", a=lambda: "a" * 20_000, b=lambda: "b" * 200_000)
_judged("split into pieces", "$a.split(',').size() > 0", a=lambda: "ab," * 300_000)
_judged("distinct texts", "$a.split(',').distinct().size() > 0", a=_numbers(120_000))
_judged("distinct lists", "$a.split(',').map(x, [x]).distinct().size() > 0", a=_numbers(20_000))
_judged("distinct lists, few", "$a.split(',').map(x, [x]).distinct().size() > 0", a=_numbers(800))
_judged("sorted", "$a.split(',').sort().size() > 0", a=_numbers(50_000))
_judged(
    "sets that do not meet",
    "!sets.intersects($a.split(','), $b.split(','))",
    a=_numbers(60_000),
    b=_numbers(60_000, 100_000),
)
_judged(
    "sets of lists that do not meet",
    "!sets.intersects($a.split(',').map(x, [x]), $b.split(',').map(x, [x]))",
    a=_numbers(1_000),
    b=_numbers(1_000, 100_000),
)
_judged("a large pattern", "$a.matches($b)", a=lambda: "ab" * 440_000, b=lambda: "[ab]{0,1000}" * 20)
_judged("a pattern without end", f"$a.matches('{_THRASHING}')", a=lambda: "ab" * 300_000)
_judged("a match for each letter", "$a.findAll('a.*b|a').size() > 0", a=lambda: "a" * 300_000)
_judged("a match for each of few letters", "$a.findAll('a.*b|a').size() > 0", a=lambda: "a" * 5_000)
_judged("the last place", "$a.lastIndexOf($b) < 0", a=lambda: "a" * 500_000, b=lambda: "b" + "a" * 300_000)
_judged("many places", "$a.indexOf($b) < 0", a=lambda: "a" * 500_000, b=lambda: "a" * 300_000 + "b")
_judged("lower case", " && ".join(["$a.lowerAscii() != ''"] * 20), a=lambda: "Ä" * 300_000)
_judged(
    "a text for each character of one",
    "$a.split('').map(x, $b + x).size() > 0",
    a=lambda: "a" * 20_000,
    b=lambda: "b" * 9_000,
)
_judged(
    "maps of many entries",
    "$a.split('').all(x, {" + ",".join(f"'k{n}':x" for n in range(3_000)) + "}.size() > 0)",
    a=lambda: "a" * 70_000,
)
_judged("no, many times", "$a.split('').all(x, " + " || ".join(["false"] * 5_000) + " || true)", a=lambda: "a" * 70_000)
_judged(
    "many words",
    "$a.split('').all(x, !(x in [" + ",".join(f"{n}" for n in range(9_000)) + "].map(y, dyn(y))))",
    a=lambda: "a" * 70_000,
)
_judged("loops in loops", "$a.split('').all(x, $a.split('').all(y, x == y))", a=lambda: "a" * 3_000)
_judged("formatted", "'%s'.format([$a.split(',')]) != ''", a=_numbers(100_000))
_judged("a number of many digits", "quantity($a).isInteger()", a=lambda: "1" * 900_000)
_judged("a url of many parts", "isURL($a)", a=lambda: "http://a/" + "%41" * 300_000)
_judged("a version of many parts", "isSemver($a)", a=lambda: "1.0.0-" + "a." * 400_000)
_judged("formats", "!format.dns1123Subdomain().validate($a).hasValue()", a=lambda: "a." * 400_000)


def _doubled(first: str, more: str) -> list[tuple[str, str]]:
    return [("v0", first), *((f"v{n}", more.replace("$", f"variables.v{n - 1}")) for n in range(1, 25))]


def _doubling(name: str, first: str, more: str, end: str) -> None:
    @bomb(f"expressions: {name}", lambda: _policy("p", end, variables=_doubled(first, more)))
    def _() -> HTTPRequest:
        return ask("POST", CONFIGS, config(data={"a": "b"}))


_doubling("24 doubled lists", "[object.data.a]", "$ + $", "variables.v24.size() > 0")
_doubling("24 doubled texts", "object.data.a", "$ + $", "variables.v24.size() > 0")
_doubling("24 lists of the last one, compared", "[object.data.a]", "[$, $]", "variables.v24 == variables.v24")
_doubling("24 lists of the last one, shown", "[object.data.a]", "[$, $]", "'%s'.format([variables.v24]) != ''")


@bomb(
    "expressions: 20 policies of 40 loops",
    lambda: [
        request
        for number in range(20)
        for request in _policy(
            f"p{number}", *["variables.a.all(x, x != '!')"] * 40, variables=[("a", "object.data.a.split('')")]
        )
    ],
)
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, config(data={"a": "a" * 180_000}))


@bomb(
    "expressions: 40 patterns without end",
    lambda: _policy("p", " && ".join(f"!object.data.a.matches('{_THRASHING}{number}')" for number in range(40))),
)
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, config(data={"a": "ab" * 2_000}))


@bomb(
    "expressions: 300 policies",
    lambda: [request for number in range(300) for request in _policy(f"p{number}", "object.data.a != ''")],
)
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, config(data={"a": "b"}))


def _rules(schema: Object, *rules: str) -> Before:
    spec = {**schema, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}
    return lambda: [ask("POST", DEFINITIONS, definition(spec))]


def _texts(**longest: int) -> Object:
    return {
        "type": "object",
        "properties": {key: {"type": "string", "maxLength": most} for key, most in longest.items()},
    }


def _custom(name: str, before: Before, spec: Callable[[], Any]) -> None:
    @bomb(f"rules: {name}", before)
    def _() -> HTTPRequest:
        body = {"apiVersion": "demo.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec()}
        return ask("POST", WIDGETS, body)


_custom(
    "a long text for each character",
    _rules(_texts(a=30_000, b=30_000), "self.a.replace('a', self.b) != ''"),
    lambda: {"a": "a" * 30_000, "b": "b" * 30_000},
)
_custom(
    "a large pattern",
    _rules(_texts(a=40_000, b=300), "self.a.matches(self.b)"),
    lambda: {"a": "ab" * 20_000, "b": "[ab]{0,1000}" * 20},
)
_custom(
    "a match for each letter",
    _rules(_texts(a=60_000), "self.a.findAll('a.*b|a').size() > 0"),
    lambda: {"a": "a" * 60_000},
)
_custom(
    "one for each of many values",
    lambda: [
        ask(
            "POST",
            DEFINITIONS,
            definition(
                {
                    "type": "array",
                    "maxItems": 80_000,
                    "items": {
                        "type": "integer",
                        "x-kubernetes-validations": [{"rule": "self > 0"}, {"rule": "self < 5"}],
                    },
                }
            ),
        )
    ],
    lambda: [1] * 78_000,
)
_custom(
    "one at each of 20 levels",
    lambda: [ask("POST", DEFINITIONS, definition(_levels(20)))],
    lambda: _nested(20, ["2020-01-01T00:00:00Z"] * 30_000),
)


def _levels(count: int) -> Object:
    made: Object = {
        "type": "array",
        "maxItems": 30_000,
        "items": {"type": "string", "format": "date-time", "maxLength": 30},
    }
    for _ in range(count):
        made = {"type": "object", "properties": {"a": made}, "x-kubernetes-validations": [{"rule": "has(self.a)"}]}
    return made


def _nested(count: int, inner: Any) -> Any:
    for _ in range(count):
        inner = {"a": inner}
    return inner


@bomb("expressions: a definition of 30,000 rules")
def _() -> HTTPRequest:
    rules = [{"rule": f"self.a != '{number}'"} for number in range(30_000)]
    return ask("POST", DEFINITIONS, definition({**_texts(a=100), "x-kubernetes-validations": rules}))


@bomb("expressions: a policy of 20,000 validations")
def _() -> HTTPRequest:
    return _policy("p", *(f"object.data.a != '{number}'" for number in range(20_000)))[0]


@bomb("expressions: a policy of the longest")
def _() -> HTTPRequest:
    return _policy("p", " || ".join(["object.a.b.c > 0"] * 4_900))[0]


@bomb("definition: patterns of very many parts that may be left out")
def _() -> HTTPRequest:
    part = {"type": "string", "pattern": "[ab]{0,1000}" * 20}
    return ask("POST", DEFINITIONS, definition({"type": "object", "properties": {"a": part, "b": part}}))


@bomb("expressions: a policy of many patterns")
def _() -> HTTPRequest:
    return _policy("p", " && ".join(f"'a'.matches('[a-z{n}]{{0,1000}}')" for n in range(300)))[0]
