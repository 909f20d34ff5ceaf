# SPDX-License-Identifier: Apache-2.0
"""Answers without what differs between two runs: uids, versions, times, addresses, random suffixes."""

from __future__ import annotations

import json
import re
from typing import Any

import attrs

from differential.operations import PATH, Operation, edited
from differential.servers import Answer, decoded

_UID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_TIME = re.compile(r"20[23]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_OLD_TIME = re.compile(r"200\d-")
_NAME = re.compile(r"\b((?:gen|Gen|zz)-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_PLACEHOLDER = re.compile(r"\{(ns|rv|uid|continue|start)(?::([^{}]+))?\}")
_TOKEN = re.compile(r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_IP = re.compile(r"^10\.\d+\.\d+\.\d+$|^fd[0-9a-f:]+$")
_NODE_PORT = re.compile(r":3[0-2]\d{3}/")
_AGE = re.compile(r"^(\d+[smhdy]){1,2}$|^<invalid>$")
_CURRENT = re.compile(r"(?<=current: )\d+|(?<=resource version: )\d{12,}(?=, current)")
_RECORDED = re.compile(r"(?<=ResourceVersion in the precondition \()\d{2,}|(?<=ResourceVersion in record \()\d+")
_TOO_OLD = re.compile(r"(?<=too old resource version: )\S+ \(\S+\)")
_LONG = re.compile(r"\b\d{13,}\b")


@attrs.define
class Memory:
    """The answers of one server in one sequence; it fills in the placeholders, and tells what is new.

    Attributes:
        namespace: The namespace of the sequence.
        objects: The last object at each path.
        versions: The last version of each uid.
        uids: The names of the uids that were seen.
        tokens: The last token of each list.
        start: The version at which the sequence began.
    """

    namespace: str
    objects: dict[str, Any] = attrs.Factory(dict)
    versions: dict[str, str] = attrs.Factory(dict)
    uids: dict[str, str] = attrs.Factory(dict)
    counts: dict[str, int] = attrs.Factory(dict)
    tokens: dict[str, str] = attrs.Factory(dict)
    start: str = "0"

    def filled(self, operation: Operation) -> tuple[str, bytes]:
        """Return the target and the body to send."""
        target = self._fill(operation.target, operation)
        body = operation.body
        if operation.last:
            last = self.objects.get(self._fill(operation.last, operation))
            body = edited({} if last is None else last, operation.edits)
        if body is None:
            return target, b""
        # Without spaces, as Go writes JSON: a real server keeps and compares the bytes of raw extensions.
        text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
        return target, self._fill(text, operation).encode("utf-8", "surrogateescape")

    def _fill(self, text: str, operation: Operation) -> str:
        item = operation.item.replace("{ns}", self.namespace)

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name == "ns":
                return self.namespace
            if name == "start":
                return self.start
            path = (match[2] or item).replace("{ns}", self.namespace)
            if name == "continue":
                return self.tokens.get(path, "none")
            metadata = (self.objects.get(path) or {}).get("metadata") or {}
            found = metadata.get("resourceVersion" if name == "rv" else "uid")
            return str(found or ("1" if name == "rv" else "00000000-0000-0000-0000-000000000000"))

        return _PLACEHOLDER.sub(value, text.replace("%7Bns%7D", "{ns}"))

    def forget(self, path: str) -> None:
        """Forget an object, which has been deleted on both servers because their answers parted."""
        name = path.rsplit("/", 1)[-1]
        self.objects.pop(path, None)
        for known in [each for each in self.counts if each.endswith(f"/{name}")]:
            del self.counts[known]

    def keep(self, path: str, answer: Answer) -> None:
        """Remember the object or the token of an answer."""
        found = decoded(answer.body) if 200 <= answer.status < 300 and answer.body[:1] in (b"{", b"k") else None
        if not isinstance(found, dict) or found.get("kind") in ("Status", "Table", "Scale", "Eviction", None):
            return
        metadata = found.get("metadata") or {}
        if "items" in found:
            self.tokens[path] = metadata.get("continue") or "none"
        elif metadata.get("uid") and not found["kind"].startswith("PartialObject"):
            match = PATH.match(path)
            if match is not None and not match["name"]:
                path = f"{path}/{metadata['name']}"
            self.objects[path] = found


@attrs.frozen
class Normal:
    """A comparable answer: a body that is a value, a list of events, or a text."""

    status: int
    headers: dict[str, list[str]]
    body: Any

    @property
    def is_refusal(self) -> bool:
        """Whether the request was refused."""
        return self.status >= 400 or self.status == 0

    def to_json(self) -> dict[str, Any]:
        """Return it as the corpus has it."""
        return {"status": self.status, "headers": self.headers, "body": self.body}


def normal(answer: Answer, operation: Operation, memory: Memory) -> Normal:
    """Return the answer without what differs between runs, and remember its uids and versions."""
    text = answer.body.decode(errors="replace")
    if "watch=" in operation.query and answer.status == 200 and answer.body[:1] in (b"", b"{"):
        body: Any = [decoded(line.encode()) for line in text.splitlines() if line.endswith("}")]
        body = [_event(one) for one in body if isinstance(one, dict) and one.get("type") != "BOOKMARK"]
    else:
        body = decoded(answer.body)
        if isinstance(body, dict) and "items" in body:
            _list_metadata(body)
    worker = _Worker(memory, is_open="watch=" in operation.query)
    worker.learn(body)
    headers = {name: [worker.text(one) for one in values] for name, values in answer.headers.items()}
    final = [] if isinstance(body, str) and not body else worker.value(body)
    return Normal(answer.status, headers, "" if isinstance(body, str) and not body else final)


def _event(event: dict[str, Any]) -> dict[str, Any]:
    obj = event.get("object")
    if isinstance(obj, dict) and obj.get("kind") == "Table" and obj.get("rows"):
        obj.get("metadata", {}).pop("resourceVersion", None)
    return event


def _list_metadata(body: dict[str, Any]) -> None:
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        if metadata.get("resourceVersion"):
            metadata["resourceVersion"] = "<listrv>"
        if metadata.get("continue"):
            metadata["continue"] = "<token>"


def _sort_generated(found: dict[str, Any]) -> None:
    """Order the objects of a list by what their names have in common: by random suffixes, they are in any order.

    A page that is followed by another one may have any of them.
    """
    name = "items" if "items" in found else "rows"
    listed = found[name]
    if not isinstance(listed, list) or not any("<rand>" in _identity(one) for one in listed):
        return
    has_more = bool((found.get("metadata") or {}).get("continue"))
    found[name] = "<random page>" if has_more else sorted(listed, key=_identity)


def _identity(listed: Any) -> str:
    obj = listed.get("object", listed) if isinstance(listed, dict) else {}
    metadata = (obj or {}).get("metadata") or {}
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')} {metadata.get('uid', '')}"


def _in_order(entries: list[Any], raw: list[Any]) -> list[Any]:
    """Return the entries of managers as if all were of one second: a run may cross into the next at any write."""
    times = {one.get("time") for one in raw if isinstance(one, dict)}
    if len(times) < 2 or not all(isinstance(one, dict) for one in raw):
        return entries
    keys = ("operation", "manager", "apiVersion", "subresource")
    return sorted(entries, key=lambda one: [str(one.get(key, "")) for key in keys])


class _Worker:
    """Replaces what differs, in one answer."""

    def __init__(self, memory: Memory, *, is_open: bool) -> None:
        self._memory = memory
        self._is_open = is_open  # a watch tells of versions out of order

    def learn(self, body: Any) -> None:
        """Name the uids of the objects in an answer, by kind, name and how many of that name there were."""
        if isinstance(body, list):
            for one in body:
                self.learn(one)
        elif isinstance(body, dict):
            metadata = body.get("metadata")
            if isinstance(metadata, dict) and metadata.get("uid") and metadata.get("name"):
                self._learn_uid(str(metadata["uid"]), str(metadata["name"]))
            for value in body.values():
                self.learn(value)

    def _learn_uid(self, uid: str, name: str) -> None:
        if uid not in self._memory.uids:
            key = f"/{self.text(name)}"
            count = self._memory.counts[key] = self._memory.counts.get(key, 0) + 1
            self._memory.uids[uid] = f"<uid {self.text(name)}#{count}>"

    def value(self, value: Any, key: str = "") -> Any:
        """Return a JSON value without what differs."""
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            if key == "cells":
                return [self._cell(one) for one in value]
            return [self.value(one, key) for one in value]
        if isinstance(value, str):
            if key in ("clusterIP", "clusterIPs") and _IP.match(value):
                return "<ip>"
            return self.text(value)
        if key in ("nodePort", "healthCheckNodePort") and isinstance(value, int) and 30000 <= value < 32768:
            return "<port>"
        return value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        found = {key: self.value(each, key) for key, each in value.items()}
        if "items" in found or "rows" in found:
            _sort_generated(found)
        if isinstance(entries := found.get("managedFields"), list):
            found["managedFields"] = _in_order(entries, value["managedFields"])
        if value.get("kind") == "Table" and isinstance(found.get("metadata"), dict):
            _list_metadata(found)
        version, uid = value.get("resourceVersion"), value.get("uid")
        if isinstance(version, str) and version and "name" in value and uid:
            last = self._memory.versions.get(str(uid))
            found["resourceVersion"] = "<rv>" if self._is_open else "<same>" if last == version else "<new>"
            if not self._is_open:
                self._memory.versions[str(uid)] = version
        elif isinstance(version, str) and version.isdigit():
            found["resourceVersion"] = "<rv>" if int(version) > 1 else version
        return found

    def _cell(self, value: Any) -> Any:
        if not isinstance(value, str):
            return self.value(value)
        if _AGE.match(value):
            return "<age>"
        return "<ip>" if _IP.match(value) else _NODE_PORT.sub(":<port>/", self.value(value))

    def text(self, text: str) -> str:
        """Return a text without what differs."""
        text = _UID.sub(self._uid, text)
        text = text.replace(self._memory.namespace, "{ns}")
        text = _TIME.sub(self._time, text)
        text = _TOKEN.sub("<token>", text)
        text = _NAME.sub(r"\1<rand>", text)
        return _LONG.sub("<N>", _RECORDED.sub("<N>", _CURRENT.sub("<N>", _TOO_OLD.sub("<N>", text))))

    def _uid(self, match: re.Match[str]) -> str:
        is_own = not match[0].startswith("00000000")  # of the server; others are texts of the client
        return self._memory.uids.get(match[0], "<uid>" if is_own else match[0])

    @staticmethod
    def _time(match: re.Match[str]) -> str:
        fraction = match[1]
        return f"<t{'' if fraction is None else f'.{len(fraction) - 1}'}>"
