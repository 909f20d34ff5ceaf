# SPDX-License-Identifier: Apache-2.0
"""Recorded exchanges with a real API server, and how they read in another run."""

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

from controller_runtime.api.http import HTTPRequest

_FOLDER = Path(__file__).resolve().parent.parent / "data" / "recordings"
# Replayed in this order, one after the other.
RECORDINGS = (_FOLDER / "apiserver-1.36.2.jsonl", _FOLDER / "outcomes-1.36.2.jsonl")
HEADERS = ("content-type", "warning", "retry-after")
# A version that no run reaches, for the recorded one that theirs did not.
FUTURE = {"999999999": "9" * 18}

UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
VARIABLE = {"uid": UUID, "resourceVersion": re.compile("[1-9][0-9]*"), "continue": re.compile("[A-Za-z0-9_-]+")}
AGE = re.compile(r"(\d+[smhdy]){1,2}")
# The last ones of managedFields and of conditions.
SERVER_TIMES = ("creationTimestamp", "deletionTimestamp", "time", "lastTransitionTime")
# Who made the recordings, as managedFields name it.
AGENT = {"user-agent": "python-urllib3"}
IN_TEXTS = re.compile(rf"{UUID.pattern}|\b\d{{5,}}\b")


@attrs.frozen
class Answer:
    """A status, the headers of note, and a body: decoded JSON, the list of a watch's events, or text."""

    status: int
    headers: dict[str, str]
    body: Any


Replay = dict[str, tuple[Answer, Answer]]
"""What had to be answered and what was, by the exchange's id."""


@attrs.frozen
class Exchange:
    """One recorded exchange."""

    id: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    answer: Answer


def exchanges() -> Iterator[Exchange]:
    """All recorded exchanges in their order, each with a name of its own."""
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
        recorded = [] if recorded is None else [recorded]  # a watch that told nothing, or one thing
    return Exchange(
        name,
        request["method"],
        request["path"],
        {name: value for name, value in headers.items() if value} | AGENT | more,
        body,
        Answer(response["status"], {k: v for k, v in response["headers"].items() if k in HEADERS}, recorded),
    )


def from_yaml(text: str) -> Any:
    """What a YAML text says; all its times are texts."""
    return yaml.load(text, yaml.BaseLoader)


class Translation:
    """What a recorded text is in this run: versions, uids, tokens and names, learned by position."""

    def __init__(self) -> None:
        self._known = dict(FUTURE)

    def request(self, exchange: Exchange) -> HTTPRequest:
        """The request as it has to be made in this run."""
        parts = urlsplit(exchange.path)
        query = tuple((name, self._known.get(value, value)) for name, value in parse_qsl(parts.query, True))
        body = exchange.body
        for recorded, here in self._known.items():
            body = body.replace(f'"{recorded}"'.encode(), f'"{here}"'.encode())
        return HTTPRequest(exchange.method, unquote(parts.path), query, exchange.headers, body)

    def expected(self, recorded: Answer, actual: Answer) -> Answer:
        """The recorded answer as it has to read in this run; learns from `actual` what it sees first."""
        return attrs.evolve(recorded, body=self._expected(recorded.body, actual.body, ""))

    def _expected(self, recorded: Any, actual: Any, name: str) -> Any:
        match recorded:
            case dict():
                others = actual if isinstance(actual, dict) else {}
                self._learn_generated(recorded, others)
                return {key: self._expected(value, others.get(key), key) for key, value in recorded.items()}
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
        if name in VARIABLE:
            return self._known.setdefault(recorded, actual) if VARIABLE[name].fullmatch(actual) else recorded
        if name in SERVER_TIMES:
            return actual if TIME.fullmatch(actual) else recorded
        if name == "cells" and AGE.fullmatch(recorded):
            return actual if AGE.fullmatch(actual) else recorded
        if name == "message":
            pairs = zip(IN_TEXTS.findall(recorded), IN_TEXTS.findall(actual), strict=False)
            for theirs, ours in pairs:
                self._known.setdefault(theirs, ours)
            return IN_TEXTS.sub(lambda match: self._known.get(match.group(), match.group()), recorded)
        return self._known.get(recorded, recorded) if name == "name" else recorded

    def _learn_generated(self, recorded: dict[str, Any], actual: dict[str, Any]) -> None:
        prefix = recorded.get("generateName")
        if prefix and re.fullmatch(f"{re.escape(prefix)}[bcdfghjklmnpqrstvwxz2456789]{{5}}", actual.get("name", "")):
            self._known.setdefault(recorded["name"], actual["name"])


def without(content: Any, *names: str) -> Any:
    """`content` without the members called `names`, at any depth."""
    match content:
        case dict():
            return {key: without(value, *names) for key, value in content.items() if key not in names}
        case list():
            return [without(one, *names) for one in content]
        case _:
            return content
