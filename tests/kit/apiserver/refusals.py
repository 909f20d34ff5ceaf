# SPDX-License-Identifier: Apache-2.0
"""Objects that a real server refuses, and its answers; see `data/refusals/cases.txt`.

`python tests/kit/apiserver/refusals.py KUBECONFIG` records the answers of a real server.
"""

from __future__ import annotations

import base64
import copy
import functools
import json
import re
import ssl
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

DATA = Path(__file__).parents[2] / "data" / "refusals"
NAMESPACE = "refused"
_ANSWERS = DATA / "answers.jsonl"
_SECTION = re.compile(r"\[(\S+) (new|change|status)\]")
_STEP = re.compile(r"[^.\[\]]+|\[\d+\]")
_VERSIONS = {"leasecandidates": "v1beta1"}
_CLUSTER_SCOPED = ("persistentvolumes", "clusterroles", "clusterrolebindings", "namespaces", "nodes")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

Ask = Callable[[str, str, Any], tuple[int, Any]]
"""From method, path and body to status and answer."""


class Case(NamedTuple):
    """One request.

    Attributes:
        resource: The resource with its group.
        action: `new`, `change` or `status`.
        setup: The edits that prepare the stored object.
        edits: The edits of the object that is sent.
    """

    resource: str
    action: str
    setup: str
    edits: str

    @property
    def name(self) -> str:
        return " | ".join(part for part in (f"{self.resource} {self.action}", self.setup, self.edits) if part)


def cases() -> Iterator[Case]:
    """Return all cases, in the order of their file."""
    resource = action = setup = ""
    for line in (DATA / "cases.txt").read_text().splitlines():
        if match := _SECTION.fullmatch(line):
            resource, action, setup = match[1], match[2], ""
        elif line.startswith("> "):
            setup = line[2:]
        elif line and not line.startswith("#"):
            yield Case(resource, action, setup, line)


@functools.cache
def _bases() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "bases.json").read_text().replace("{ns}", NAMESPACE))
    return found


def recorded() -> dict[str, dict[str, Any]]:
    """Return the answers of a real server by the names of cases."""
    answers = map(json.loads, _ANSWERS.read_text().splitlines())
    return {answer.pop("case"): answer for answer in answers}


def edited(obj: Any, edits: str) -> Any:
    """Return a copy of an object with values put into it."""
    made = copy.deepcopy(obj)
    for edit in filter(None, edits.split(" ; ")):
        path, _, value = edit.partition(" = ")
        *steps, last = (int(step[1:-1]) if step[0] == "[" else step for step in _STEP.findall(path))
        target = made
        for step in steps:
            target = target[step] if isinstance(step, int) else target.setdefault(step, {})
        target[last] = json.loads(value)
    return made


def collection(resource: str) -> str:
    """Return the path of all objects of a resource in the namespace of the cases."""
    plural, _, group = resource.partition(".")
    version = _VERSIONS.get(plural, "v1")
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return f"{root}/{plural}" if plural in _CLUSTER_SCOPED else f"{root}/namespaces/{NAMESPACE}/{plural}"


def play(case: Case, ask: Ask) -> dict[str, Any]:
    """Send the requests of a case and return what is compared of the last answer."""
    path, base = collection(case.resource), _bases()[case.resource]
    if case.action == "new":
        return _compared(*ask("POST", f"{path}?dryRun=All", edited(base, case.edits)))
    code, stored = ask("POST", path, edited(base, case.setup))
    if code != 201:
        raise ValueError(f"{case.name}: {code} {stored}")
    own = f"{path}/{stored['metadata']['name']}"
    try:
        part = "/status" if case.action == "status" else ""
        return _compared(*ask("PUT", f"{own}{part}?dryRun=All", edited(stored, case.edits)))
    finally:
        _remove(own, ask)


def _remove(path: str, ask: Ask) -> None:
    """Delete an object that nothing else watches, with its finalizers."""
    ask("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background", None)
    code, left = ask("GET", path, None)
    if code != 200:
        return
    if "finalizers" in left.get("spec", {}):
        ask("PUT", f"{path}/finalize", edited(left, "spec.finalizers = []"))
    else:
        ask("PUT", path, edited(left, "metadata.finalizers = []"))


def _compared(code: int, answer: Any) -> dict[str, Any]:
    if code < 400:
        return {"code": code}
    details = answer.get("details") or {}
    causes = [[one.get("field"), one.get("reason"), _plain(one.get("message"))] for one in details.get("causes", ())]
    return {"code": code, "reason": answer.get("reason"), "message": _plain(answer.get("message")), "causes": causes}


def _plain(text: str) -> str:
    """Return a text without what differs between two runs."""
    text = _UID.sub("UID", text)
    return re.sub(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)


def main() -> None:
    """Record the answers of a real server."""
    ask = _client(yaml.safe_load(Path(sys.argv[1]).read_text()))
    ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    with _ANSWERS.open("w") as target:
        for case in cases():
            answer = {"case": case.name, **play(case, ask)}
            target.write(f"{json.dumps(answer, ensure_ascii=False)}\n")


def _client(config: Any) -> Ask:
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    headers = {"Content-Type": "application/json"}
    if "token" in user:
        headers["Authorization"] = f"Bearer {user['token']}"
    if "client-certificate-data" in user:
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(base64.b64decode(user["client-certificate-data"] + user["client-key-data"]))
            pem.flush()
            context.load_cert_chain(pem.name)

    def ask(method: str, path: str, obj: Any) -> tuple[int, Any]:
        body = None if obj is None else json.dumps(obj).encode()
        request = urllib.request.Request(cluster["server"] + path, data=body, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, context=context) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    return ask


if __name__ == "__main__":
    main()
