# SPDX-License-Identifier: Apache-2.0
"""The record of one release: what a running, empty server of it says of itself, a file for each subject.

A subject whose file is there is not asked about again, so an interrupted recording goes on where it ended. All files
are JSON with sorted keys, one entry a line, so that two releases differ in few lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from apimachinery.schema import Library, Schema
from embedded_apiserver.kinds.kind import Kind
from tests.differential.real import SWITCHED_ON
from tests.differential.servers import Real, decoded
from tests.kit.releases.emulated import Emulated
from tests.kit.releases.forms import form_of, places
from tests.kit.releases.openapi import parameters
from tests.kit.releases.switched_off import created, switched_off
from tests.kit.webhooks.shown_by_webhook import Asker

Record = dict[str, Any]
"""The facts of one subject, by name."""

_AGGREGATED = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
_TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
_GATE = re.compile(r'^kubernetes_feature_enabled\{name="(\w+)",stage="(\w*)"\} ([01])$', re.M)
_GROUP_VERSION = re.compile(r"api/[^/]+|apis/[^/]+/[^/]+")
_METADATA_OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp")
# Whose objects are those of the recording itself, of the clock or of the machine.
_NOT_BORN = ("Event", "Lease", "LeaseCandidate", "Endpoints", "EndpointSlice", "IPAddress", "ComponentStatus")
_SCALED = "/apis/apps/v1/namespaces/default/deployments"


def text_of(record: Mapping[str, Any]) -> str:
    """Return a record as JSON, with sorted keys and one entry a line."""
    lines = (
        f"{json.dumps(key)}:{json.dumps(record[key], separators=(',', ':'), sort_keys=True)}" for key in sorted(record)
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


class Recorder:
    """Records one release into a folder.

    Args:
        kubeconfig: The administrator's, of a server on this machine that has nothing but what it was born with.
        folder: Where the files are written.
        tell: Called with each line about what was found and cannot be recorded.
        emulated: The release, such as v1.34.2, that a newer server emulates, with the schemas of its source tree.
    """

    def __init__(
        self, kubeconfig: Path, folder: Path, tell: Callable[[str], None], emulated: Emulated | None = None
    ) -> None:
        self._kubeconfig, self._folder, self._tell = kubeconfig, folder, tell
        self._real, self._emulated = Real(kubeconfig), emulated

    def record(self) -> None:
        """Write each file that is not there."""
        self._folder.mkdir(parents=True, exist_ok=True)
        kinds = self._kept("kinds", self.kinds)
        self._kept("version", self.version)
        self._kept("gates", self.gates)
        self._kept("warnings", lambda: self.warnings(kinds))
        self._kept("objects", lambda: self.objects(kinds))
        definitions = self._kept("definitions", self.definitions)
        self._kept("parameters", self.parameters)
        self._kept("columns", lambda: self.columns(kinds))
        known = list(_with_schemas(kinds, definitions))
        self._kept("off", lambda: switched_off(self._real, known))
        self._kept("created", lambda: _timeless(created(self._real)))
        self._kept("forms", lambda: self.forms(known))  # the longest
        self._real.close()

    def _kept(self, name: str, ask: Callable[[], Record]) -> Record:
        file = self._folder / f"{name}.json"
        if not file.exists():
            found = ask()
            file.write_text(text_of(found), encoding="utf-8")
            self._tell(f"{name}: {len(found)}")
        read: Record = json.loads(file.read_text(encoding="utf-8"))
        return read

    def _get(self, target: str, headers: Mapping[str, str] | None = None) -> Any:
        return decoded(self._real.ask("GET", target, dict(headers or {}), b"").body)

    def version(self) -> Record:
        """Return what the server says of its version; of an emulated release, what its own binary says."""
        found: Record = self._get("/version")
        return self._emulated.version(found) if self._emulated else found

    def kinds(self) -> Record:
        """Return what discovery says of each kind, by `group/version/plural`."""
        found = {}
        for target in ("/api", "/apis"):
            for group in self._get(target, _AGGREGATED)["items"]:
                for version in group["versions"]:
                    for one in version["resources"]:
                        key = f"{group['metadata'].get('name', '')}/{version['version']}/{one.pop('resource')}"
                        parts = {part.pop("subresource"): part for part in one.pop("subresources", ())}
                        found[key] = {**one, "subresources": parts}
        return found

    def gates(self) -> Record:
        """Return the stage of each feature gate, and whether it is on by default."""
        text = self._real.ask("GET", "/metrics", {}, b"").body.decode()
        found = _GATE.findall(text)
        return {name: {"stage": stage, "on": value == "1" and name != SWITCHED_ON} for name, stage, value in found}

    def warnings(self, kinds: Record) -> Record:
        """Return the warning of each kind whose lists carry one."""
        found = {}
        for key, one in kinds.items():
            if "list" in one["verbs"]:
                answer = self._real.ask("GET", _root(key), {}, b"")
                if warnings := answer.headers.get("warning"):
                    found[key] = warnings[0].removeprefix('299 - "').removesuffix('"')
        return self._emulated.warnings(found) if self._emulated else found

    def objects(self, kinds: Record) -> Record:
        """Return the objects that the server was born with, by `collection/namespace/name`."""
        found = {}
        for key, one in kinds.items():
            group, _, plural = key.split("/")
            if "list" in one["verbs"] and one["responseKind"]["kind"] not in _NOT_BORN:
                for obj in self._get(_root(key))["items"]:
                    metadata = obj["metadata"]
                    name = f"{plural}.{group}".rstrip(".")
                    for field in _METADATA_OF_THE_SERVER:
                        metadata.pop(field, None)
                    found.setdefault(f"{name}/{metadata.get('namespace', '')}/{metadata['name']}", _timeless(obj))
        return self._emulated.objects(found) if self._emulated else found

    def _documents(self) -> Iterator[Any]:
        for name, one in self._get("/openapi/v3")["paths"].items():
            if _GROUP_VERSION.fullmatch(name):
                yield self._get(one["serverRelativeURL"])

    def definitions(self) -> Record:
        """Return the definitions of all types, as OpenAPI v3 has them, with their descriptions."""
        served = (document["components"].get("schemas", {}) for document in self._documents())
        found = {name: schema for schemas in served for name, schema in schemas.items()}
        return self._emulated.definitions(found) if self._emulated else found

    def parameters(self) -> Record:
        """Return the descriptions of parameters."""
        found = parameters(list(self._documents()))
        return self._emulated.parameters(found) if self._emulated else found

    def columns(self, kinds: Record) -> Record:
        """Return the columns of tables by `apiVersion/kind`."""
        found = {}
        for key, one in kinds.items():
            if "list" in one["verbs"]:
                table = self._get(f"{_root(key)}?limit=1", _TABLE)
                api_version = key.rpartition("/")[0].removeprefix("/")
                found[f"{api_version}/{one['responseKind']['kind']}"] = table["columnDefinitions"]
        found["autoscaling/v1/Scale"] = self._columns_of_scale()
        return self._emulated.columns(found) if self._emulated else found

    def _columns_of_scale(self) -> Any:
        """Return the columns of a scale, which has no list: it needs a deployment, which is deleted again."""
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        body = json.dumps({"metadata": {"name": "columns"}, "spec": spec}).encode()
        self._real.ask("POST", _SCALED, {"content-type": "application/json"}, body)
        try:
            return self._get(f"{_SCALED}/columns/scale", _TABLE)["columnDefinitions"]
        finally:
            self._real.ask("DELETE", f"{_SCALED}/columns", {}, b"")

    def forms(self, kinds: list[tuple[Kind, Schema]]) -> Record:
        """Return how each type is stored. Each type is noted when it is known, since this takes minutes."""
        notes = self._folder / "forms.part"
        found: Record = (
            dict(json.loads(line) for line in notes.read_text("utf-8").splitlines()) if notes.exists() else {}
        )
        with Asker(self._kubeconfig) as asker, notes.open("a", encoding="utf-8") as file:
            for name, (schema, known) in sorted(places(kinds).items()):
                if name not in found:
                    found[name] = form_of(asker, name, schema, known, self._tell)
                    file.write(json.dumps([name, found[name]]) + "\n")
                    file.flush()
        return {name: form for name, form in found.items() if form}


def _root(key: str) -> str:
    """Return the path of all objects of the kind with this key."""
    return f"/api{key}" if key.startswith("/") else f"/apis/{key}"


def _timeless(node: Any) -> Any:
    """Return an object with each time replaced."""
    if isinstance(node, dict):
        return {key: _timeless(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_timeless(value) for value in node]
    is_time = isinstance(node, str) and re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+Z", node)
    return "0000-00-00T00:00:00Z" if is_time else node


def _with_schemas(kinds: Record, definitions: Record) -> Iterator[tuple[Kind, Schema]]:
    """Yield the kinds with their schemas."""
    schemas = dict(Library(definitions).kinds())
    for key, one in kinds.items():
        group, version, plural = key.split("/")
        kind = one["responseKind"]["kind"]
        schema = schemas.get((group, version, kind))
        if schema is not None:
            namespaced = one["scope"] == "Namespaced"
            made = Kind(
                group=group, version=version, kind=kind, plural=plural, namespaced=namespaced, verbs=tuple(one["verbs"])
            )
            yield made, schema
