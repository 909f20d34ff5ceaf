# SPDX-License-Identifier: Apache-2.0
"""The discovery documents: the server's version, and the kinds that it serves.

There are two forms with the same content: the classic documents, one for each group version, and the aggregated ones,
two in all, which newer clients ask for first.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from embedded_apiserver.groups.parts import PARTS
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.kinds.release import NEWEST, Release

AGGREGATED: Mapping[str, str] = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
"""The parameters of the media type of the aggregated documents."""

_BUILD = {
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}


def version_document(release: Release) -> dict[str, str]:
    """Return the document at `/version` for a release; clients compare it with their own version."""
    return {**release.numbers, "gitVersion": f"{release.version}+embedded", **_BUILD}


def discovery_document(kinds: Kinds, path: str, release: Release = NEWEST) -> dict[str, Any] | None:
    """Return the unaggregated discovery document at `path` (without a final slash); None if there is none."""
    match path.split("/")[1:]:
        case ["version"]:
            return version_document(release)
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            return {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [_group(kinds, group) for group in kinds.groups()],
            }
        case ["api", version]:
            return _resources(kinds, "", version)
        case ["apis", group] if group and kinds.versions(group):
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(kinds, group)}
        case ["apis", group, version] if group:
            return _resources(kinds, group, version)
        case _:
            return None


def aggregated_document(kinds: Kinds, path: str) -> dict[str, Any] | None:
    """Return the aggregated discovery document at `/api` (core group) or `/apis` (other groups); None for other
    paths.
    """
    items: list[dict[str, Any]]
    match path:
        case "/api":
            items = [{"metadata": {}, "versions": _aggregated_versions(kinds, "")}]
        case "/apis":
            items = [
                {"metadata": {"name": group}, "versions": _aggregated_versions(kinds, group)}
                for group in kinds.groups()
            ]
        case _:
            return None
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def is_served(kinds: Kinds, path: str) -> bool:
    """Return whether `path` is below the path of a served group, whether or not its further parts exist.

    For a group with custom kinds alone, it must be below a served version, as in a real API server.
    """
    match path.split("/")[1:]:
        case ["api", _, *_]:
            return True
        case ["apis", group, version, *_] if group:
            return bool(kinds.of(group, version)) or any(kind.group == group and not kind.definition for kind in kinds)
        case _:
            return False


def _group(kinds: Kinds, group: str) -> dict[str, Any]:
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in kinds.versions(group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resources(kinds: Kinds, group: str, version: str) -> dict[str, Any] | None:
    found = _in_order(kinds, group, version)
    if not found:
        return None
    entries = [entry for kind in found for entry in _entries(kind)]
    document = {"kind": "APIResourceList", "groupVersion": found[0].api_version, "resources": entries}
    # A real server leaves `apiVersion` out of the list of the core group, the oldest one.
    return {**document, "apiVersion": "v1"} if group else document


def _in_order(kinds: Kinds, group: str, version: str) -> list[Kind]:
    return sorted(kinds.of(group, version), key=lambda kind: kind.plural)


def _entries(kind: Kind) -> list[dict[str, Any]]:
    scope = {"namespaced": kind.namespaced}
    whole: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular,
        **scope,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
        **_nicknames(kind),
    }
    if kind.is_stored:
        whole["storageVersionHash"] = _storage_hash(kind.stored)
    parts = []
    for name in sorted(kind.subresources):
        verbs, sent = PARTS[name].verbs, PARTS[name].response_kind(kind)
        part: dict[str, Any] = {"name": f"{kind.plural}/{name}", "singularName": "", **scope}
        if sent.group != kind.group:
            part |= {"group": sent.group, "version": sent.version}
        parts.append({**part, "kind": sent.kind, "verbs": list(verbs)})
    return [whole, *parts]


def _aggregated_versions(kinds: Kinds, group: str) -> list[dict[str, Any]]:
    return [
        {
            "version": version,
            "resources": [_aggregated(kind) for kind in _in_order(kinds, group, version)],
            "freshness": "Current",
        }
        for version in kinds.versions(group)
    ]


def _aggregated(kind: Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": _response_kind(kind, kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
        **_nicknames(kind),
    }
    if kind.subresources:
        entry["subresources"] = [
            {
                "subresource": name,
                "responseKind": _response_kind(PARTS[name].response_kind(kind), kind),
                "verbs": list(PARTS[name].verbs),
            }
            for name in sorted(kind.subresources)
        ]
    return entry


def _response_kind(answered: Kind, kind: Kind) -> dict[str, str]:
    """Return the kind of the responses.

    As in a real API server, group and version are empty for a built-in kind if they are those of the resource.
    """
    if answered.api_version == kind.api_version and kind.definition is None:
        return {"group": "", "version": "", "kind": answered.kind}
    return {"group": answered.group, "version": answered.version, "kind": answered.kind}


def _nicknames(kind: Kind) -> dict[str, list[str]]:
    names = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {key: value for key, value in names.items() if value}


def _storage_hash(kind: Kind) -> str:
    """Return the hash that changes when objects are stored in another version; here, that never happens."""
    version = kind.hashed_version or kind.version
    digest = hashlib.sha256(f"{kind.group}/{version}/{kind.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
