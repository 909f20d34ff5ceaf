# SPDX-License-Identifier: Apache-2.0
"""Where two answers differ, and what each difference means for somebody whose tests run against the embedded server.

1a accepts what the real server refuses; 1b refuses what it takes; 1c both succeed, but answer or store something else;
2a both refuse, with another code or reason; 2b with other details or causes; 2c another text or warning; 3 a kind, verb
or subresource is missing; 4 cosmetic; doc the wording of a decoding error.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import attrs

from differential.normal import Normal
from differential.operations import Operation

CLASSES = ("3", "1a", "1b", "1c", "2a", "2b", "2c", "doc", "4")
"""By weight: an operation counts as the first of its differences."""
OUTCOMES = ("1a", "1b", "1c", "3")
ABSENT = "<absent>"
_COSMETIC = ("content-type", "location")
_DECODING = re.compile(
    r"cannot be handled as|cannot unmarshal|strict decoding|error decoding|couldn't get version|invalid character"
    r"|unexpected end of JSON|yaml: |json: |error converting YAML|unmarshal|parsing time|cannot restore"
)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_POD_SPEC = re.compile(r"(?:spec\.jobTemplate\.)?(?:spec\.)?template\.spec\b|(?<![\w.])spec(?=\.(?:c|initC)ontainers)")
_POD_KINDS = {
    *("pods", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs"),
    *("replicationcontrollers", "podtemplates"),
}


@attrs.frozen
class Difference:
    """One difference of two answers.

    Attributes:
        number: The class.
        where: The place in the answer, such as `spec.replicas` or `header warning`.
        ours: The value of the embedded server.
        real: The value of the real one.
        object: The uid of the object that it is about, as normalised; empty for the answer itself.
    """

    number: str
    where: str
    ours: Any
    real: Any
    object: str = ""

    def signature(self, operation: Operation) -> str:
        """Return what differences of one cause have in common."""
        where, kind, verb = _general(self.where), operation.kind, operation.verb
        where = where.replace(operation.kind, "KIND")
        if _POD_SPEC.search(where) and kind in _POD_KINDS:
            where, kind = _POD_SPEC.sub("PODSPEC", where, count=1), "podspec"
        difference = f"{where}: {_short(self.ours)} for {_short(self.real)}"
        if self.number in ("2a", "2b", "2c", "doc"):
            return difference.replace(operation.kind, "KIND")
        return f"{kind}: {difference}" if self.number in ("1c", "4") else f"{kind} {verb}: {difference}"


def _general(text: str) -> str:
    text = re.sub(r"\[\d+\]", "[]", _QUOTED.sub('"…"', text))
    return re.sub(r"\d+", "N", text)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else repr(value)
    if text.startswith("299 - "):
        text = text.removeprefix("299 - ").strip('"').replace('\\"', "'")
    return _general(text)[:140]


def differences(operation: Operation, ours: Normal, real: Normal) -> list[Difference]:
    """Return all differences of two answers; none if they are equal."""
    if _is_by_age(operation, ours, real):
        return []
    if ours.is_refusal or real.is_refusal:
        found = list(_of_refusals(operation, ours, real))
    else:
        found = list(_of_successes(operation, ours, real))
    return found + list(_of_headers(ours, real, found))


def _is_by_age(operation: Operation, ours: Normal, real: Normal) -> bool:
    """Return whether one server has forgotten a version and the other not yet: that depends on the time since then.

    A list with a limit asks for exactly its version, too. Version 1 is older than all that either server has made.
    """
    query = operation.query.split("&")
    asks = "resourceVersionMatch=Exact" in query
    asks |= "resourceVersion=1" in query and any(one.startswith("limit=") and one != "limit=0" for one in query)
    return asks and {ours.status, real.status} == {200, 410}


def _reason(answer: Normal) -> str:
    return str(answer.body.get("reason", "")) if isinstance(answer.body, dict) else ""


def _message(answer: Normal) -> str:
    text = str(answer.body.get("message", "")) if isinstance(answer.body, dict) else str(answer.body)
    head, several, faults = text.partition("errors:\n  ")  # a real server finds them in a map, in any order
    return head + several + "\n  ".join(sorted(faults.split("\n  "))) if several else text


def _kind(answer: Normal) -> str:
    return str(answer.body.get("kind", "")) if isinstance(answer.body, dict) else ""


def _causes(answer: Normal) -> list[tuple[str, str, str]]:
    details = answer.body.get("details") if isinstance(answer.body, dict) else None
    causes = (details or {}).get("causes") or ()
    found = [(one.get("field", ""), one.get("reason", ""), one.get("message", "")) for one in causes]
    # A real server takes the managers of conflicts from a map, in any order.
    return sorted(found) if all(reason == "FieldManagerConflict" for _, reason, _ in found) else found


def _is_missing(ours: Normal) -> bool:
    return ours.status == 404 and _message(ours).startswith(
        ("the server could not find the requested resource", "404 page")
    )


def _told(answer: Normal) -> str:
    """Say in short how an answer refuses."""
    if not answer.is_refusal:
        return f"{answer.status}"
    causes = sorted({f"{field} {reason}" for field, reason, _ in _causes(answer)})
    return f"{answer.status} {_reason(answer)} {'; '.join(causes) or _message(answer)}"


def _of_refusals(operation: Operation, ours: Normal, real: Normal) -> Iterator[Difference]:
    if ours.is_refusal != real.is_refusal:
        number = "1b" if ours.is_refusal else "1a"
        if number == "1b" and _is_missing(ours):
            number = "3"
        yield Difference(number, "answer", _told(ours), _told(real))
        return
    if (ours.status, _reason(ours)) != (real.status, _reason(real)):
        yield Difference("3" if _is_missing(ours) and real.status != 404 else "2a", "answer", _told(ours), _told(real))
        return
    if not isinstance(ours.body, dict) or not isinstance(real.body, dict):
        if ours.body != real.body:
            yield Difference("2c", "text", ours.body, real.body)
        return
    yield from _of_causes(operation, ours, real)


def _of_causes(operation: Operation, ours: Normal, real: Normal) -> Iterator[Difference]:
    is_decoding = ours.status == 400 and bool(_DECODING.search(_message(real)))
    text = "doc" if is_decoding else "2c"
    mine, theirs = _causes(ours), _causes(real)
    extra = sorted({one[:2] for one in mine} - {one[:2] for one in theirs})
    missing = sorted({one[:2] for one in theirs} - {one[:2] for one in mine})
    yield from (Difference("2b", "cause extra", " ".join(one), "") for one in extra)
    yield from (Difference("2b", "cause missing", "", " ".join(one)) for one in missing)
    for key in ("name", "group", "kind", "uid", "retryAfterSeconds"):
        parts = [(one.body.get("details") or {}).get(key, ABSENT) for one in (ours, real)]
        if parts[0] != parts[1]:
            yield Difference("2b", f"details.{key} of {_told(real)}", *parts)
    if extra or missing:
        return
    if operation.kind == "custom objects" and len(mine) > 1 and sorted(mine) == sorted(theirs):
        return  # a real server looks at the fields of custom objects in any order
    if mine != theirs and sorted(mine) == sorted(theirs) and [one[0] for one in mine] == [one[0] for one in theirs]:
        return  # a real server looks at the entries of a map, such as labels, in any order
    if mine != theirs:
        told = ([each for each in mine if each not in theirs], [each for each in theirs if each not in mine])
        pairs = list(zip(*told, strict=False)) or [(mine[0], theirs[0])]
        yield from (Difference(text, "text" if told[0] else "order of causes", a[2], b[2]) for a, b in pairs)
    elif _message(ours) != _message(real):
        yield Difference(text, "text", _message(ours), _message(real))


def _of_headers(ours: Normal, real: Normal, found: list[Difference]) -> Iterator[Difference]:
    for name in sorted(ours.headers.keys() | real.headers.keys()):
        mine, theirs = ours.headers.get(name, []), real.headers.get(name, [])
        if mine == theirs or (name != "warning" and any(one.number in ("1a", "1b", "2a", "3") for one in found)):
            continue
        if name == "warning":
            for one in theirs:
                if one not in mine:
                    yield Difference("2c", "warning missing", "", one)
            for one in mine:
                if one not in theirs:
                    yield Difference("2c", "warning extra", one, "")
        else:
            yield Difference("4" if name in _COSMETIC else "2b", f"header {name}", ", ".join(mine), ", ".join(theirs))


def _of_successes(operation: Operation, ours: Normal, real: Normal) -> Iterator[Difference]:
    if ours.status != real.status:
        yield Difference("1c", "status", ours.status, real.status)
    if isinstance(ours.body, list) and isinstance(real.body, list):
        yield from _of_events(ours.body, real.body)
    elif (kinds := (_kind(ours), _kind(real)))[0] != kinds[1]:
        yield Difference("1c", "kind of the answer", *kinds)
    elif type(ours.body) is not type(real.body):
        if ours.body or real.body:
            yield Difference("1c", "body", ours.body, real.body)
    else:
        yield from _of_values(ours.body, real.body, "", "", "")


def _ordered(events: list[Any]) -> list[Any]:
    """Return events with deletions in a row ordered by name: a real server deletes collections in parallel."""
    found: list[Any] = []
    for is_deleted, row in itertools.groupby(events, lambda one: one.get("type") == "DELETED"):
        each = list(row)
        found += sorted(each, key=lambda one: _name(one.get("object"))) if is_deleted else each
    return found


def _of_events(ours: list[Any], real: list[Any]) -> Iterator[Difference]:
    ours, real = _ordered(ours), _ordered(real)
    told = [[f"{one.get('type')} {_name(one.get('object'))}" for one in events] for events in (ours, real)]
    if told[0] != told[1]:
        mine = [one for one in told[0] if told[0].count(one) > told[1].count(one)]
        theirs = [one for one in told[1] if told[1].count(one) > told[0].count(one)]
        short = [" ".join(sorted({one.split()[0] for one in each})) or "other order" for each in (mine, theirs)]
        names = "".join({one.split(" ", 1)[1] for one in [*mine, *theirs]})
        yield Difference("1c", "events", short[0], short[1], names)
        return
    for index, (mine, theirs) in enumerate(zip(ours, real, strict=True)):
        uid = _name(theirs.get("object"))
        yield from _of_values(mine.get("object"), theirs.get("object"), f"events[{index}]", "", uid)


def _name(obj: Any) -> str:
    if not isinstance(obj, dict):
        return ""
    if obj.get("kind") == "Table":
        return "".join(_name(row.get("object")) for row in obj.get("rows") or () if isinstance(row, dict))
    return str((obj.get("metadata") or {}).get("uid", ""))


def _of_values(ours: Any, real: Any, where: str, key: str, uid: str) -> Iterator[Difference]:
    if isinstance(ours, dict) and isinstance(real, dict):
        if "cells" in real:
            uid = _name(real.get("object")) or uid
        uid = _name(real) or uid
        for name in sorted(ours.keys() | real.keys(), key=str):
            place = f"{where}.{name}" if where else name
            yield from _of_values(ours.get(name, ABSENT), real.get(name, ABSENT), place, name, uid)
    elif isinstance(ours, list) and isinstance(real, list) and len(ours) == len(real):
        for index, pair in enumerate(zip(ours, real, strict=True)):
            yield from _of_values(*pair, f"{where}[{index}]", key, uid)
    elif ours != real or type(ours) is not type(real):
        yield Difference(_number(where, ours, real), where, ours, real, uid)


def _number(where: str, ours: Any, real: Any) -> str:
    is_nothing = ours in (ABSENT, "", None) and real in (ABSENT, "", None)
    if is_nothing and where.startswith("metadata.") and where.endswith(("continue", "selfLink")):
        return "4"
    if where.startswith("columnDefinitions") and where.endswith("description"):
        return "4"
    return "1c"
