# SPDX-License-Identifier: Apache-2.0
"""Answers about pod security, of a real server or of the embedded one, in the form in which they are recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from differential.servers import Answer, Server

from kit.apiserver.pod_security_pods import pods
from kit.apiserver.pod_security_steps import SPACES, Request, space, steps, templates

RECORDED = Path(__file__).resolve().parents[2] / "data" / "pod_security.json"
LEVELS = ("baseline", "restricted")
MINORS = (0, 7, 8, 18, 19, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 99)
"""The releases whose levels are asked for: those that brought a form of a check, the ones before them, and later."""
_REFUSED = re.compile(r'pods "p" is forbidden: violates PodSecurity "\w+:[\w.]+": (.*)', re.DOTALL)
_GENERATED = re.compile(r"\bg-[a-z0-9]{5}\b")

Annotated = Callable[[Callable[[], Answer]], tuple[Answer, Mapping[str, str]]]
"""Makes a request; returns its answer, and its annotations in the audit log."""


class Told(NamedTuple):
    """The things that a client and the audit log are told: status, refusal, warnings and annotations."""

    status: int
    refusal: Any
    warnings: list[str]
    annotations: dict[str, str]

    def recorded(self) -> list[Any]:
        """Return it as JSON, without what is empty at the end."""
        found: list[Any] = [self.status, self.refusal, self.warnings, self.annotations]
        while not found[-1]:
            found.pop()
        return found


def told_of(server: Server, annotated: Annotated, request: Request) -> Told:
    """Make a request, and return what is told."""
    body = b"" if request.body is None else json.dumps(request.body).encode()
    headers = {"content-type": request.media_type}
    answer, found = annotated(lambda: server.ask(request.method, request.target, headers, body))
    refusal = json.loads(answer.body) if answer.status >= 400 else None
    if refusal is not None:
        parts = {name: refusal.get(name) for name in ("message", "reason", "details")}
        refusal = json.loads(_GENERATED.sub("g-?", json.dumps(parts)))
    annotations = {
        key.partition("/")[2]: value for key, value in sorted(found.items()) if key.startswith("pod-security")
    }
    return Told(answer.status, refusal, answer.headers.get("warning", []), annotations)


def requests_of_pods() -> Iterable[tuple[str, Request]]:
    """Yield the creation of each pod in namespaces that refuse it and that warn of it, and that of a deployment."""
    deployments, _ = next(templates({}))
    for name, pod in pods().items():
        for level in LEVELS:
            yield f"{name}: {level}", Request("POST", f"{SPACES}/e-{level}/pods?dryRun=All", pod)
        yield f"{name}: warned", Request("POST", f"{SPACES}/w-restricted/pods?dryRun=All", pod)
        _, deployment = next(templates(pod["spec"]))
        deployment["spec"]["template"]["metadata"].update(annotations=pod["metadata"].get("annotations", {}))
        yield f"{name}: templated", Request("POST", f"{deployments.format('w-restricted')}?dryRun=All", deployment)


def spaces_of_pods() -> Iterable[Request]:
    """Yield the creation of the namespaces that these requests need."""
    for level in LEVELS:
        yield Request("POST", SPACES, space(f"e-{level}", enforce=level))
        for minor in MINORS:
            yield Request("POST", SPACES, space(f"{level}-{minor}", enforce=level, enforce_version=f"v1.{minor}"))
    yield Request("POST", SPACES, space("w-restricted", warn="restricted", audit="restricted"))


def history(server: Server, level: str, pod: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return what a level has against a pod, by the first release in which it has just that."""
    found: list[tuple[int, str]] = []
    for minor in MINORS:
        body = json.dumps(pod).encode()
        answer = server.ask(
            "POST", f"{SPACES}/{level}-{minor}/pods?dryRun=All", {"content-type": "application/json"}, body
        )
        message = json.loads(answer.body).get("message", "")
        match = _REFUSED.fullmatch(message)
        text = match[1] if match else message
        if not found or found[-1][1] != text:
            found.append((minor, text))
    return found


def recorded_steps(server: Server, annotated: Annotated, settle: Callable[[Request], None]) -> list[list[Any]]:
    """Make the requests of `steps`, with a call of `settle` after each one; return what is told."""
    found = []
    for request in steps():
        found.append(told_of(server, annotated, request).recorded())
        settle(request)
    return found
