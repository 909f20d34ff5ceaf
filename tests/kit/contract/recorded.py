# SPDX-License-Identifier: Apache-2.0
"""Recorded exchanges with a real API server, and their translation to the versions and names of another run."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import attrs
import yaml

from apimachinery.http import HTTPRequest

_FOLDER = Path(__file__).resolve().parent.parent.parent / "data" / "recordings"
# Replayed in this order, one after the other.
RECORDINGS = (_FOLDER / "apiserver-1.36.2.jsonl", _FOLDER / "outcomes-1.36.2.jsonl")
HEADERS = ("content-type", "warning", "retry-after")
# A version that no run reaches, in place of the recorded one that the real server had not reached.
FUTURE = {"999999999": "9" * 18}

UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
VARIABLE = {"uid": UUID, "resourceVersion": re.compile("[1-9][0-9]*"), "continue": re.compile("[A-Za-z0-9_-]+")}
AGE = re.compile(r"(\d+[smhdy]){1,2}")
# Times that the server writes: of the object, of managedFields, and of conditions.
SERVER_TIMES = ("creationTimestamp", "deletionTimestamp", "time", "lastTransitionTime")
# The group of the one definition that is made and deleted.
DEFINED = "rec.example.com"
# The User-Agent of the recordings, which `managedFields` contain.
AGENT = {"user-agent": "python-urllib3"}
# The present and the oldest version of a server in its messages: those of the run, not of the recording.
PRESENT = re.compile(r"(?<=, current: )\d+")
OLDEST = re.compile(r"(?<=too old resource version: 1 \()\d+")
ADDRESS = re.compile(r"(\d+\.){3}\d+:\d+")
IN_TEXTS = re.compile(rf"{UUID.pattern}|\b\d{{5,}}\b")


@attrs.frozen
class Answer:
    """A status, the headers that are compared, and a body: decoded JSON, a list of watch events, or text."""

    status: int
    headers: dict[str, str]
    body: Any


Replay = dict[str, tuple[Answer, Answer]]
"""The expected and the actual response, by the exchange's id."""


@attrs.frozen
class Exchange:
    """A recorded exchange."""

    id: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    answer: Answer


def exchanges() -> Iterator[Exchange]:
    """Return all recorded exchanges in their order, each with a name of its own."""
    seen: Counter[str] = Counter()
    for line in (line for path in RECORDINGS for line in path.read_text(encoding="utf-8").splitlines()):
        content = json.loads(line)
        name = f"{content['group']}: {content['note']}"
        seen[name] += 1
        yield _exchange(name if seen[name] == 1 else f"{name} ({seen[name]})", content["request"], content["response"])


def _exchange(name: str, request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    headers = {"content-type": request.get("contentType"), "accept": request.get("accept")}
    body = request.get("rawBody", json.dumps(request["body"]) if "body" in request else "").encode()
    if "base64Body" in request:
        body = base64.b64decode(request["base64Body"])
    more = {name.lower(): value for name, value in request.get("headers", {}).items()}
    recorded = response["body"]
    if response["headers"].get("content-type") == "application/yaml":
        recorded = from_yaml(recorded)
    if "watch=1" in request["path"] and response["status"] == 200 and not isinstance(recorded, list):
        recorded = [] if recorded is None else [recorded]  # a watch without an event, or with one
    return Exchange(
        name,
        request["method"],
        request["path"],
        {name: value for name, value in headers.items() if value} | AGENT | more,
        body,
        Answer(response["status"], {k: v for k, v in response["headers"].items() if k in HEADERS}, recorded),
    )


def from_yaml(text: str) -> Any:
    """Return the content of a YAML text, with times left as texts."""
    return yaml.load(text, yaml.BaseLoader)


class Translation:
    """Translates recorded versions, uids, tokens and names to those of this run, which it learns from responses.

    Args:
        others_write: True if the server makes writes of its own, so that two lists between which the run wrote nothing
            may have different versions. Each must be at least the greatest version seen of an object.
    """

    def __init__(self, *, others_write: bool = False) -> None:
        self._others_write = others_write
        self._known = dict(FUTURE)
        self._reached = 0  # the highest version that was seen of an object

    def request(self, exchange: Exchange) -> HTTPRequest:
        """Return the request to make in this run."""
        parts = urlsplit(exchange.path)
        query = tuple((name, self._known.get(value, value)) for name, value in parse_qsl(parts.query, True))
        body = exchange.body
        for recorded, here in self._known.items():
            body = body.replace(f'"{recorded}"'.encode(), f'"{here}"'.encode())
        return HTTPRequest(exchange.method, unquote(parts.path), query, exchange.headers, body)

    def expected(self, recorded: Answer, actual: Answer) -> Answer:
        """Return the response that is expected in this run; learn values that are new here from the `actual` one."""
        return attrs.evolve(recorded, body=self._expected(recorded.body, actual.body, ""))

    def _expected(self, recorded: Any, actual: Any, name: str) -> Any:
        match recorded:
            case dict():
                others = actual if isinstance(actual, dict) else {}
                self._learn_generated(recorded, others)
                expected = {key: self._expected(value, others.get(key), key) for key, value in recorded.items()}
                if self._others_write and ("items" in recorded or "rows" in recorded):
                    self._take_version_of_list(expected, others)
                return expected
            case list():
                others = actual if isinstance(actual, list) else []
                return [
                    self._expected(one, other, name) for one, other in zip_longest(recorded, others[: len(recorded)])
                ]
            case str() if isinstance(actual, str):
                return self._expected_text(recorded, actual, name)
            case _:
                return recorded

    def _expected_text(self, recorded: str, actual: str, name: str) -> str:
        if name == "resourceVersion" and actual.isdecimal():
            self._reached = max(self._reached, int(actual))
        if name in VARIABLE:
            return self._known.setdefault(recorded, actual) if VARIABLE[name].fullmatch(actual) else recorded
        if name in SERVER_TIMES:
            return actual if TIME.fullmatch(actual) else recorded
        if name == "cells" and AGE.fullmatch(recorded):
            return actual if AGE.fullmatch(actual) else recorded
        if name == "serverAddress":
            return actual if ADDRESS.fullmatch(actual) else recorded
        if name == "message":
            self._learn_own_versions(recorded, actual)
            pairs = zip(IN_TEXTS.findall(recorded), IN_TEXTS.findall(actual), strict=False)
            for theirs, ours in pairs:
                self._known.setdefault(theirs, ours)
            return IN_TEXTS.sub(lambda match: self._known.get(match.group(), match.group()), recorded)
        return self._known.get(recorded, recorded) if name == "name" else recorded

    def _take_version_of_list(self, expected: dict[str, Any], actual: dict[str, Any]) -> None:
        version = (actual.get("metadata") or {}).get("resourceVersion", "")
        if version.isdecimal() and int(version) >= self._reached and "resourceVersion" in expected["metadata"]:
            expected["metadata"] = {**expected["metadata"], "resourceVersion": version}

    def _learn_own_versions(self, recorded: str, actual: str) -> None:
        """Learn the versions that a server says of itself, where they are possible.

        The present one is not behind what was seen of objects, and the oldest that is remembered is not ahead of it.
        """
        for pattern, is_possible in (
            (PRESENT, lambda version: version >= self._reached),
            (OLDEST, lambda version: 1 < version <= self._reached),
        ):
            theirs, ours = pattern.search(recorded), pattern.search(actual)
            if theirs and ours and is_possible(int(ours.group())):
                self._known[theirs.group()] = ours.group()

    def _learn_generated(self, recorded: dict[str, Any], actual: dict[str, Any]) -> None:
        prefix = recorded.get("generateName")
        if prefix and re.fullmatch(f"{re.escape(prefix)}[bcdfghjklmnpqrstvwxz2456789]{{5}}", actual.get("name", "")):
            self._known.setdefault(recorded["name"], actual["name"])


def regardless_of_pace(answer: Answer) -> Answer:
    """Return the response without the parts that depend on the pace of the run or of the server.

    The entries of managedFields, which are ordered by the second of their last write, are sorted. The group of a
    deleted definition, which is discovered for a while longer, is left out. So is a bookmark without annotations, which
    a watch may send shortly before its end.
    """
    body = answer.body
    if isinstance(body, list):
        body = [event for event in body if not _is_plain_bookmark(event)]
    return attrs.evolve(answer, body=_settled(body))


def _is_plain_bookmark(event: Any) -> bool:
    return event.get("type") == "BOOKMARK" and "annotations" not in event["object"]["metadata"]


def _settled(content: Any) -> Any:
    match content:
        case {"kind": "APIGroupList", "groups": list(groups)}:
            return {**content, "groups": [group for group in groups if group["name"] != DEFINED]}
        case dict():
            return {
                key: sorted(value, key=_of_entry) if key == "managedFields" and value else _settled(value)
                for key, value in content.items()
            }
        case list():
            return [_settled(one) for one in content]
        case _:
            return content


def _of_entry(entry: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in entry.items() if key != "time"}, sort_keys=True)


def without(content: Any, *names: str) -> Any:
    """Return `content` without the fields called `names`, at any depth."""
    match content:
        case dict():
            return {key: without(value, *names) for key, value in content.items() if key not in names}
        case list():
            return [without(one, *names) for one in content]
        case _:
            return content
