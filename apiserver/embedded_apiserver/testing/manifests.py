# SPDX-License-Identifier: Apache-2.0
"""Manifests: files that are loaded into a server, and a server's objects as such a file."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.server import APIServer
from embedded_apiserver.testing.matching import WHERE_KINDS_ARE

MANAGER = "load"
"""The field manager by which `load` applies objects."""
_REFUSED = 400
_FIRST = ("Namespace", "CustomResourceDefinition")
"""Kinds that others need, so they are loaded first."""
_BY_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
"""Metadata that the server gives, and that cannot be loaded."""


def read(pattern: str) -> list[tuple[Path, dict[str, Any]]]:
    """Return the objects in the YAML or JSON files that match a pattern, each with its file, sorted by file name.

    The items of a `List` are returned one by one. Namespaces and custom resource definitions come first.

    Raises:
        UsageError: No file matches the pattern, or a file cannot be read or does not contain objects.
    """
    paths = [Path(name) for name in sorted(glob.glob(pattern, recursive=True))]
    paths = [path for path in paths if path.is_file()]
    if not paths:
        raise UsageError(f"no file is named {pattern!r} (from the folder {Path.cwd()})")
    found = [(path, obj) for path in paths for obj in _objects_in(path)]
    return sorted(found, key=lambda each: each[1]["kind"] not in _FIRST)


def _objects_in(path: Path) -> Iterator[dict[str, Any]]:
    try:
        documents = [*yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    for document in documents:
        yield from _flat(path, document)


def _flat(path: Path, document: Any) -> Iterator[dict[str, Any]]:
    if document is None:
        return
    if not isinstance(document, dict) or not all(isinstance(document.get(f), str) for f in ("apiVersion", "kind")):
        raise UsageError(f"{path}: each document is an object with apiVersion and kind, and not {document!r:.80}")
    if document["kind"].endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _flat(path, item)
    else:
        yield document


def load(server: APIServer, token: str, pattern: str, namespace: str) -> list[dict[str, Any]]:
    """Apply the objects in files as the server's administrator; return the stored objects.

    Args:
        server: The server.
        token: The administrator's token.
        pattern: A path, or a glob pattern such as `manifests/*.yaml`.
        namespace: The namespace for objects that do not name one.

    Raises:
        UsageError: A file cannot be read, or the server does not serve a kind or refuses an object.
    """
    return [_apply(server, token, path, obj, namespace) for path, obj in read(pattern)]


def _apply(server: APIServer, token: str, path: Path, obj: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    kind = server.kinds.named(obj["apiVersion"], obj["kind"])
    if kind is None:
        raise UsageError(f"{path}: {obj['kind']} of {obj['apiVersion']} is not served: {WHERE_KINDS_ARE}")
    metadata = dict(obj.get("metadata") or {})
    name = metadata.get("name", "")
    if kind.namespaced:
        metadata.setdefault("namespace", namespace)
    version = f"/apis/{obj['apiVersion']}" if "/" in obj["apiVersion"] else f"/api/{obj['apiVersion']}"
    within = f"/namespaces/{metadata['namespace']}" if kind.namespaced else ""
    collection, body = f"{version}{within}/{kind.plural}", msgspec.json.encode({**obj, "metadata": metadata})
    if name:
        query = (("fieldManager", MANAGER), ("force", "true"))
        request = _request("PATCH", f"{collection}/{name}", query, token, "application/apply-patch+yaml", body)
    else:  # a generated one
        request = _request("POST", collection, (("fieldManager", MANAGER),), token, "application/json", body)
    answer = server.handle(request)
    assert isinstance(answer, HTTPResponse), "no watch was asked for"
    stored: dict[str, Any] = msgspec.json.decode(answer.body)
    if answer.status >= _REFUSED:
        raise UsageError(f"{path}: {obj['kind']} {name or 'without a name'}: {stored.get('message', stored)}")
    return stored


def _request(
    method: str, path: str, query: tuple[tuple[str, str], ...], token: str, media_type: str, body: bytes
) -> HTTPRequest:
    headers = {"authorization": f"Bearer {token}", "user-agent": MANAGER, "content-type": media_type}
    return HTTPRequest(method, path, query, headers, body)


def dump(server: APIServer, since: int) -> str:
    """Return the objects written after the resourceVersion `since`, as YAML that `load` accepts."""
    return yaml.safe_dump_all(_written(server, since), sort_keys=False)


def _written(server: APIServer, since: int) -> Iterator[dict[str, Any]]:
    for kind in _ordered(server.kinds):
        for item in server.storage.read(kind.resource).items:
            if item.version > since:
                obj = item.decode()
                metadata = {name: value for name, value in obj["metadata"].items() if name not in _BY_SERVER}
                yield {"apiVersion": kind.api_version, "kind": kind.kind, **obj, "metadata": metadata}


def _ordered(kinds: Kinds) -> list[Kind]:
    return sorted(kinds.stored, key=lambda kind: (kind.kind not in _FIRST, kind.resource))
