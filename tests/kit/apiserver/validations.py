# SPDX-License-Identifier: Apache-2.0
"""Rules of custom resource definitions, with what a real server answers: `data/validations`.

`python tests/tools/validations.py KUBECONFIG` records the answers of a real server.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

DATA = Path(__file__).parents[2] / "data" / "validations"
ANSWERS = DATA / "answers.json"
FILES = ("public", "features")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RULES = "x-kubernetes-validations"
Object = dict[str, Any]


class Told(NamedTuple):
    """The answer of a server: the status, the body and the texts of the warnings."""

    code: int
    body: Any
    warnings: Sequence[str] = ()


Ask = Callable[[str, str, Any], Told]
"""From method, target and body to the answer."""
Wait = Callable[[str, Any], None]
"""Waits until a path is served and an object, if there is one, refused: as the definition just written says."""


@functools.cache
def cases(file: str) -> list[Object]:
    """Return the cases of a file."""
    found: list[Object] = yaml.safe_load((DATA / f"{file}.yaml").read_text(encoding="utf-8"))
    return found


def expressions() -> list[str]:
    """Return the expressions; one that begins with `= ` gives a text, another is true or false."""
    text = (DATA / "expressions.txt").read_text(encoding="utf-8").replace("'''a\nb'''", "'''a\0b'''")
    return [line.replace("\0", "\n") for line in text.splitlines() if line and not line.startswith("#")]


@functools.cache
def recorded() -> dict[str, Any]:
    """Return the answers of a real server."""
    found: dict[str, Any] = json.loads(ANSWERS.read_text(encoding="utf-8"))
    return found


def definition(group: str, case: Object, spec: Object | None = None) -> Object:
    """Return the definition of a case; `spec` replaces the schema of the spec."""
    if "rule" in case:
        spec = {"type": "object", "properties": {"a": {"type": "integer"}}, _RULES: [case["rule"]]}
    root = {"type": "object", "properties": {"spec": spec or case.get("spec")}}
    if spec is None and "root" in case:
        root = case["root"]
    version: Object = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    if case.get("has_status"):
        version["subresources"] = {"status": {}}
    names = {"plural": "things", "kind": "Thing"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]},
    }


def play(case: Object, group: str, ask: Ask, wait: Wait) -> list[Object]:
    """Define a kind and write the objects of a case; return the answers."""
    objects = list(_objects(case))
    things = f"/apis/{group}/v1/things"
    made = _defined(ask, definition(group, case, case.get("before")))
    wait(things, None)
    stored = {}
    for index, one in enumerate(objects):
        if "old" in one:
            stored[index] = _ok(ask("POST", things, _thing(group, index, one["old"])))
        if "old_status" in one:
            with_status = {**stored[index], "status": one["old_status"]}
            stored[index] = _ok(ask("PUT", f"{things}/o{index}/status", with_status))
    if "before" in case:
        wanted = {**made, "spec": definition(group, case)["spec"]}
        _ok(ask("PUT", f"{_DEFINITIONS}/{made['metadata']['name']}", wanted))
        wait(things, _thing(group, 0, case["refuses"]))
    answers = [_written(ask, things, group, index, one, stored.get(index)) for index, one in enumerate(objects)]
    ask("DELETE", f"{_DEFINITIONS}/things.{group}", None)
    return answers


def _objects(case: Object) -> Iterator[Object]:
    yield from case["objects"]
    for name, size in case.get("generated", {}).items():
        yield {"new": {name: _many(*size)}}


def _many(item: Any, times: int) -> list[Any]:
    return [_many(*item) if isinstance(item, list) else item] * times


def _written(ask: Ask, things: str, group: str, index: int, one: Object, stored: Object | None) -> Object:
    if stored is None:
        return compared(ask("POST", f"{things}?dryRun=All", _thing(group, index, one["new"])))
    if "status" in one:
        return compared(ask("PUT", f"{things}/o{index}/status?dryRun=All", {**stored, "status": one["status"]}))
    return compared(ask("PUT", f"{things}/o{index}?dryRun=All", {**stored, "spec": one["new"]}))


def refusal(case: Object, group: str, ask: Ask) -> Object:
    """Try to write a definition, without storing it; return the answer."""
    return compared(ask("POST", f"{_DEFINITIONS}?dryRun=All", definition(group, case)), group)


def evaluated(group: str, ask: Ask, wait: Wait) -> dict[str, str]:
    """Return what each expression gives: `true`, a text, or the error."""
    found: dict[str, str] = {}
    properties: dict[str, Object] = {}
    rules: dict[str, tuple[str, Object]] = {}
    for index, text in enumerate(expressions()):
        rule = {"rule": "false", "messageExpression": text[2:]} if text.startswith("= ") else {"rule": text}
        rule = {**rule, "message": "false"}
        tried = refusal({"rule": rule}, group, ask)
        if tried["code"] == 201:
            properties[f"e{index}"] = {"type": "boolean", _RULES: [rule]}
            rules[f"spec.e{index}"] = text, rule
        else:
            found[text] = _compile_error(tried["causes"][0][2])
    _ok(ask("POST", _DEFINITIONS, definition(group, {}, {"type": "object", "properties": properties})))
    wait(f"/apis/{group}/v1/things", None)
    for name in properties:
        text, _ = rules[f"spec.{name}"]
        answer = compared(ask("POST", f"/apis/{group}/v1/things?dryRun=All", _thing(group, 0, {name: True})))
        found[text] = _result(answer)
    ask("DELETE", f"{_DEFINITIONS}/things.{group}", None)
    return found


def _result(answer: Object) -> str:
    if answer["code"] == 201:
        return "true"
    return str(answer["causes"][0][2]).partition(": ")[2].partition(": ")[2].removesuffix(" evaluating rule: false")


def _compile_error(text: str) -> str:
    return text.rpartition('"OptionalOldSelf":null}: ')[2]


def _thing(group: str, index: int, spec: Any) -> Object:
    return {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": f"o{index}"}, "spec": spec}


def _defined(ask: Ask, wanted: Object) -> Object:
    name = _ok(ask("POST", _DEFINITIONS, wanted))["metadata"]["name"]
    while True:
        found = _ok(ask("GET", f"{_DEFINITIONS}/{name}", None))
        conditions = found["status"].get("conditions") or ()
        if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
            return found


def _ok(told: Told) -> Any:
    if told.code not in (200, 201):
        raise ValueError(told)
    return told.body


def compared(told: Told, group: str = "") -> Object:
    """Return what is compared of an answer."""
    made: Object = {"code": told.code}
    if told.warnings:
        made["warnings"] = list(told.warnings)
    if told.code < 400:
        return made
    causes = (told.body.get("details") or {}).get("causes", ())
    made["causes"] = [[one.get("field"), one.get("reason"), one.get("message")] for one in causes]
    made["reason"] = told.body.get("reason")
    if not causes:
        made["message"] = told.body.get("message").replace(group, "GROUP") if group else told.body.get("message")
    return made
