# SPDX-License-Identifier: Apache-2.0
"""What the server says about itself: its version, and which kinds it serves where."""

from __future__ import annotations

from typing import Any

from controller_runtime.apiserver.kinds import KINDS, Kind

# The version of Kubernetes whose behaviour is followed; clients compare it with their own.
_VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.2+embedded",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}
_PART_VERBS = {"status": ["get", "patch", "update"], "finalize": ["update"]}


def discovery_document(path: str) -> dict[str, Any] | None:
    """The document at `path` (without a final slash), or None if it is none of these."""
    match path.split("/")[1:]:
        case ["version"]:
            return dict(_VERSION)
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = dict.fromkeys(kind.group for kind in KINDS if kind.group)
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(group) for group in groups]}
        case ["api", version]:
            return _resources("", version)
        case ["apis", group] if _versions(group):
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group)}
        case ["apis", group, version]:
            return _resources(group, version)
        case _:
            return None


def is_served(path: str) -> bool:
    """Whether `path` lies in a group version that is served, whatever it names there."""
    match path.split("/")[1:]:
        case ["api", version, *_]:
            return _resources("", version) is not None
        case ["apis", group, version, *_]:
            return _resources(group, version) is not None
        case _:
            return False


def _versions(group: str) -> list[str]:
    return list(dict.fromkeys(kind.version for kind in KINDS if kind.group == group))


def _group(group: str) -> dict[str, Any]:
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in _versions(group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resources(group: str, version: str) -> dict[str, Any] | None:
    kinds = [kind for kind in KINDS if (kind.group, kind.version) == (group, version)]
    if not kinds:
        return None
    entries = [entry for kind in sorted(kinds, key=lambda kind: kind.plural) for entry in _entries(kind)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": kinds[0].api_version, "resources": entries}


def _entries(kind: Kind) -> list[dict[str, Any]]:
    whole: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        whole["shortNames"] = list(kind.short_names)
    if kind.categories:
        whole["categories"] = list(kind.categories)
    parts = [
        {
            "name": f"{kind.plural}/{part}",
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": _PART_VERBS[part],
        }
        for part in kind.subresources
    ]
    return [whole, *parts]


def part_verbs(part: str) -> list[str]:
    """What may be done with a part of an object."""
    return _PART_VERBS[part]
