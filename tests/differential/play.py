# SPDX-License-Identifier: Apache-2.0
"""Sequences of operations, played against both servers side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from differential.classify import CLASSES, Difference, differences
from differential.normal import Memory, Normal, normal
from differential.operations import PATH, Operation
from differential.servers import Answer, Embedded, Real, Server, decoded

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_KEPT = ("services", "serviceaccounts", "pods", "configmaps")


@attrs.frozen
class Result:
    """One operation with both answers.

    Attributes:
        operation: The request.
        ours: The answer of the embedded server.
        real: The answer of the real one.
        found: The differences.
        is_echo: Whether all of them show again what was told before.
    """

    operation: Operation
    ours: Normal
    real: Normal
    found: list[Difference]
    is_echo: bool = False

    @property
    def number(self) -> str:
        """The class as which the operation counts: `equal`, `echo`, or that of its heaviest difference."""
        if not self.found:
            return "equal"
        return "echo" if self.is_echo else min((one.number for one in self.found), key=CLASSES.index)


class Side:
    """One server in one sequence."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.server = server
        self.memory = Memory(namespace)

    def ask(self, operation: Operation) -> Answer:
        """Send a request and remember its answer."""
        target, body = self.memory.filled(operation)
        headers = dict(operation.headers)
        if body and "content-type" not in headers:
            headers["content-type"] = "application/json"
        answer = self.server.ask(operation.method, target, headers, body)
        if "dryRun" not in target:
            self.memory.keep(operation.path.replace("{ns}", self.memory.namespace), answer)
        return answer

    def do(self, operation: Operation) -> Normal:
        """Send a request; return the comparable answer."""
        return normal(self.ask(operation), operation, self.memory)

    def begin(self) -> None:
        """Make the namespace, and note the version at which the sequence begins."""
        name = self.memory.namespace
        body = json.dumps({"metadata": {"name": name}}).encode()
        answer = self.server.ask("POST", "/api/v1/namespaces", {"content-type": "application/json"}, body)
        made = decoded(answer.body)
        self.memory.start = made["metadata"].get("resourceVersion", "0")

    def end(self, paths: Sequence[str]) -> None:
        """Delete what the sequence made outside of its namespace, and services, whose addresses are few."""
        namespace = self.memory.namespace
        for path in paths:
            self.remove(path.replace("{ns}", namespace))
        services = f"/api/v1/namespaces/{namespace}/services"
        self.server.ask("DELETE", services, {}, b"")
        self.remove(f"/api/v1/namespaces/{namespace}")

    def remove(self, path: str) -> None:
        """Delete an object whatever holds it."""
        empty = json.dumps({"metadata": {"finalizers": None}}).encode()
        if not path.startswith(_DEFINITIONS):
            self.server.ask("PATCH", path, {"content-type": "application/merge-patch+json"}, empty)
        options = json.dumps({"gracePeriodSeconds": 0, "propagationPolicy": "Background"}).encode()
        self.server.ask("DELETE", path, {"content-type": "application/json"}, options)
        if "/pods/" not in path:
            self.server.ask("PATCH", path, {"content-type": "application/merge-patch+json"}, empty)
        self.memory.forget(path)


class Play:
    """Plays operations against both servers, or against the real one alone, whose answers then count as both."""

    def __init__(self, embedded: Embedded | None, real: Real, namespace: str) -> None:
        self._real = real
        self._sides = [Side(server, namespace) for server in (embedded, real) if server is not None]
        self._told: set[tuple[str, str, str, str]] = set()
        self._objects: set[str] = set()
        self._paths: list[str] = []
        self._namespace = namespace

    def run(self, operations: Sequence[Operation]) -> Iterator[Result]:
        """Yield the result of each operation, and delete at the end what they made."""
        for side in self._sides:
            side.begin()
        try:
            for operation in operations:
                yield self._one(operation)
        finally:
            for side in self._sides:
                side.end(self._paths)

    def _one(self, operation: Operation) -> Result:
        for again in range(3):  # a real server's lists and watches come from a cache that may lag
            answers = [side.do(operation) for side in self._sides]
            ours, real = answers[0], answers[-1]
            found = differences(operation, ours, real)
            if not found or operation.method != "GET" or again == 2:
                break
        self._note(operation, real)
        is_echo = bool(found) and all(self._is_told(one) for one in found)
        for one in found:
            self._told.add(_key(one))
            if one.number == "1c" and one.object:
                self._objects.add(one.object)
        has_parted = any(one.number in ("1a", "1b", "3") for one in found)
        if operation.method == "DELETE" and any(one.number == "1c" for one in found) and not is_echo:
            has_parted = True  # one may be gone, and wait for finalizers on the other
        if operation.method != "GET" and has_parted:
            self._part(operation, ours if real.is_refusal else real)
        return Result(operation, ours, real, found, is_echo)

    def _is_told(self, one: Difference) -> bool:
        if one.number not in ("1c", "2c"):
            return False
        if ".cells" in one.where or one.where == "events" or one.where.startswith("rows"):
            return any(uid in one.object for uid in self._objects)
        return bool(one.object) and _key(one) in self._told

    def _part(self, operation: Operation, accepted: Normal) -> None:
        """After a write that only one server took: delete the object on both, and forget it."""
        match = PATH.match(operation.path)
        if match is None:
            return
        paths = [operation.item]
        if not match["name"]:
            name = _name_in(accepted.body) or _name_in(operation.body)
            if not name or operation.method == "DELETE":
                return
            paths = [f"{operation.path}/{name}"]
        for side in self._sides:
            for path in paths:
                side.remove(path.replace("{ns}", self._namespace))

    def _note(self, operation: Operation, real: Normal) -> None:
        """Remember what is to be deleted at the end, and wait for new definitions."""
        match = PATH.match(operation.path)
        if match is None or operation.method not in ("POST", "PATCH", "PUT") or real.is_refusal:
            return
        name = match["name"]
        if not name and isinstance(operation.body, dict):
            name = (operation.body.get("metadata") or {}).get("name")
        is_here = match["namespace"] is not None
        if name and not is_here and "dryRun" not in operation.query:
            collection = operation.path.removesuffix(f"/{match['sub']}") if match["sub"] else operation.path
            path = collection if match["name"] else f"{collection}/{name}"
            if path not in self._paths:
                self._paths.append(path)
            if path.startswith(_DEFINITIONS) and operation.method == "POST":
                self._establish(path)

    def _establish(self, path: str) -> None:
        """Wait until the versions of a definition are served."""
        path = path.replace("{ns}", self._namespace)
        spec = (decoded(self._real.ask("GET", path, {}, b"").body) or {}).get("spec")
        if isinstance(spec, dict):
            for version in spec["versions"]:
                if version.get("served"):
                    self._real.wait_for(f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}")


def _name_in(body: Any) -> str:
    """Return the name of an object, or of the one row of a table."""
    if not isinstance(body, dict):
        return ""
    if body.get("kind") == "Table" and body.get("rows"):
        body = body["rows"][0].get("object") or {}
    return str((body.get("metadata") or {}).get("name") or "")


def _key(one: Difference) -> tuple[str, str, str, str]:
    where = one.where
    for prefix in ("items[", "events[", "rows["):
        if where.startswith(prefix):
            where = where.partition("].")[2]
            where = where.removeprefix("object.")
    return one.object, where, repr(one.ours), repr(one.real)
