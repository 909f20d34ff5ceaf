# SPDX-License-Identifier: Apache-2.0
"""Sequences of requests with the answers of a real server, replayed on the embedded one and compared.

Values that differ in each run are replaced in both: times, uids and versions. An exchange without an answer only
prepares the next ones: what the two servers answer there differs for a reason that is known.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from apimachinery.http import HTTPRequest, HTTPResponse
from embedded_apiserver.server import APIServer

_FOLDER = Path(__file__).resolve().parent.parent.parent / "data" / "recordings" / "compared"
RECORDINGS = tuple(sorted(path.name.removesuffix("-1.36.2.jsonl.gz") for path in _FOLDER.glob("*.jsonl.gz")))

_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_UID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_NUMBER = re.compile(r"\b\d{4,}\b(?=\)|$)")
_VERSION = re.compile(rb'"<rv ([^>]+)>"')
_WARNING = re.compile(r'299 - "(?:[^"\\]|\\.)*"')
_AGENT = {"user-agent": "fuzz"}
_LONG = 4000  # characters of a text that are compared as they are


def compared(name: str, server: APIServer) -> Iterator[tuple[str, Any, Any]]:
    """Yield each recorded request, the answer of the real server and that of `server`."""
    text = gzip.decompress((_FOLDER / f"{name}-1.36.2.jsonl.gz").read_bytes()).decode()
    for line in text.splitlines():
        exchange = json.loads(line)
        actual = _ask(server, exchange["request"])
        if "answer" in exchange:
            request = exchange["request"]
            yield f"{request['method']} {request['path']} {request.get('body', '')}", exchange["answer"], actual


def _ask(server: APIServer, request: dict[str, Any]) -> dict[str, Any]:
    body = _VERSION.sub(lambda found: _version(server, found[1].decode()), request.get("body", "").encode())
    answer = _answer(server, request["method"], request["path"], request.get("headers", {}), body)
    warnings = sorted(_WARNING.findall(answer.headers.get("warning", "")))
    said = {"status": answer.status, "body": _alike(_read(answer.body))}
    return {**said, "warnings": warnings} if warnings else said


def _answer(server: APIServer, method: str, target: str, headers: dict[str, str], body: bytes) -> HTTPResponse:
    parts = urlsplit(target)
    query = tuple(parse_qsl(parts.query, True))
    answer = server.handle(HTTPRequest(method, unquote(parts.path), query, {**_AGENT, **headers}, body))
    assert isinstance(answer, HTTPResponse)
    return answer


def _version(server: APIServer, path: str) -> bytes:
    return json.dumps(json.loads(_answer(server, "GET", path, {}, b"").body)["metadata"]["resourceVersion"]).encode()


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode()


def _alike(value: Any) -> Any:
    """Return a value without what is another one in each run."""
    match value:
        case dict():
            made = {name: _alike(item) for name, item in value.items()}
            if isinstance(entries := made.get("managedFields"), list):
                made["managedFields"] = sorted(entries, key=lambda entry: json.dumps(entry, sort_keys=True))
            if made.get("resourceVersion") not in (None, "", "0") and isinstance(made["resourceVersion"], str):
                made["resourceVersion"] = "<rv>"
            return made
        case list():
            return [_alike(item) for item in value]
        case str() if len(value) < _LONG:
            return _NUMBER.sub("N", _UID.sub("<uid>", _TIME.sub("<t>", value)))
    return value
