# SPDX-License-Identifier: Apache-2.0
"""Rules of definitions in CEL are refused and hold as on a real server: same fields, reasons, order and words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.validations import FILES, Ask, Told, cases, evaluated, play, recorded, refusal
from kit.contract.engines import WITH_RE2

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

_WARNING = re.compile(r'299 - ("(?:[^"\\]|\\.)*")')
_AS_MANY_AS_A_REAL_SERVER = 1 << 40  # which ends expressions by their costs alone
_TYPE_OF_SELF = re.compile(r"selfType\d+")  # another one for each definition
# Cases that a real server answers in the order in which Go happens to look at a map.
_IN_ANY_ORDER = ("formats", "order among the checks")


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """A client of a server."""
    server = APIServer(Simulation(0).host("apiserver"), most_expression_steps=_AS_MANY_AS_A_REAL_SERVER)
    asking = Asking(server)

    def send(method: str, target: str, body: Any) -> Told:
        path, _, dry = target.partition("?dryRun=")
        answer = asking.response(method, path, body, **({"dryRun": dry} if dry else {}))
        warnings = [json.loads(text) for text in _WARNING.findall(answer.headers.get("warning", ""))]
        return Told(answer.status, json.loads(answer.body), warnings)

    yield send
    server.close()


def _comparable(answer: Any, name: str = "") -> Any:
    made = json.loads(_TYPE_OF_SELF.sub("selfType", json.dumps(answer)))
    if name in _IN_ANY_ORDER:
        return {**made, "causes": sorted(made.get("causes", ()))}
    return made


@pytest.mark.scenario("CX-01")
@pytest.mark.scenario("CX-04")
@pytest.mark.scenario("CX-05")
@pytest.mark.scenario("CX-06")
@pytest.mark.parametrize(
    ("file", "index"),
    [
        pytest.param(file, index, marks=WITH_RE2 if (file, index) == ("features", 13) else ())
        for file in FILES
        for index in range(len(cases(file)))
    ],
)
def test_objects_are_judged_as_by_a_real_server(file: str, index: int, ask: Ask) -> None:
    """Objects, their updates and those of their status are accepted or refused by rules as on a real server."""
    case = cases(file)[index]
    wanted = recorded()[file][case["name"]]
    answers = play(case, f"{file}{index}.example.com", ask, lambda *_: None)
    assert len(answers) == len(wanted) > 2
    assert [_comparable(answer, case["name"]) for answer in answers] == [
        _comparable(answer, case["name"]) for answer in wanted
    ]


@WITH_RE2
@pytest.mark.scenario("CX-02")
def test_definitions_are_judged_as_by_a_real_server(ask: Ask) -> None:
    """Rules with errors of syntax or type, of other fields, or that cost too much, are refused in the same words."""
    answers = [refusal(case, "refused.example.com", ask) for case in cases("refused")]
    wanted = recorded()["refused"]
    differing = [
        (case, answer, real)
        for case, answer, real in zip(cases("refused"), answers, wanted, strict=True)
        if _comparable(answer) != _comparable(real)
    ]
    assert differing == []
    assert sum(answer["code"] == 422 for answer in wanted) > 90


@WITH_RE2
@pytest.mark.scenario("CX-03")
def test_functions_give_what_they_give_on_a_real_server(ask: Ask) -> None:
    """Each function of Kubernetes' libraries has the value, or the error, that it has on a real server."""
    answers, wanted = evaluated("expressions.example.com", ask, lambda *_: None), recorded()["expressions"]
    assert {text: (answer, wanted[text]) for text, answer in answers.items() if answer != wanted[text]} == {}
    assert len(answers) > 450


def test_ten_public_definitions_have_objects_of_both_sorts() -> None:
    answers = recorded()["public"]
    codes = {name: {answer["code"] for answer in of_one} for name, of_one in answers.items()}
    assert len(codes) == 10
    assert all(422 in found and found & {200, 201} for found in codes.values()), codes
