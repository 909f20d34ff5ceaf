# SPDX-License-Identifier: Apache-2.0
"""Finds the resources that a server serves, by name.

Discovery is read when the first name is looked up, kept, and read again when a name is not found. Newer
servers answer with two aggregated documents; from older ones the classic documents are read, one for each
group version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import attrs

from apimachinery.errors import APIError, DecodeError, NotFound
from apimachinery.host import Host
from apimachinery.http import HTTPResponse
from apimachinery.texts import kept_text
from controller_runtime.api.resources import Resource
from controller_runtime.client.answers import document_of

ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
"""Prefers the aggregated document, and accepts the classic one."""

MOST_GROUP_VERSIONS = 5000
"""The most classic documents that are read, one for each group version; a cluster with 1,000 definitions has some
hundreds.
"""

# Seconds for which discovery is not read again. Without it, a loop that waits for a kind to be defined would read all
# documents with each turn.
_FRESH = 2.0

Fetch = Callable[[str, str], HTTPResponse]
"""Sends a GET of a path with an `accept` header, and raises the error of a failed answer."""


class FoundResource(NamedTuple):
    """A resource and the names by which it can be found, in lower case."""

    resource: Resource[Any]
    names: frozenset[str]


@attrs.frozen
class Discovered:
    """The resources of a server.

    Attributes:
        found: All resources, in the server's order of preference.
        failed: The reason by group version, for those that could not be read because their aggregated server is
            unavailable.
    """

    found: tuple[FoundResource, ...]
    failed: Mapping[str, str]


class Discovery:
    """Finds resources by kind, plural, singular or short name.

    Args:
        host: The source of the time, to tell the age of discovery documents.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        self._now = host.monotonic
        # Guards the two fields below; never held during a request.
        self._lock = host.lock("discovery")
        self._known = Discovered((), {})
        self._asked_at = -_FRESH

    def resource(self, fetch: Fetch, name: str, api_version: str = "") -> Resource[Any]:
        """Return the resource of that name; see `Client.resource`.

        Args:
            fetch: Requests a document, within the limits of the client that asks.
            name: The kind, plural, singular or short name, perhaps with the group.
            api_version: Search only in this group and API version; empty for all.
        """
        with self._lock:
            known, is_fresh = self._known, self._now() - self._asked_at < _FRESH
        found = _find(known, name, api_version)
        if found is None and not (is_fresh and known.found):
            known = self._ask(fetch)
            found = _find(known, name, api_version)
        if found is None:
            raise NotFound(_missing(known, name, api_version), code=404, reason="NotFound")
        return found

    def _ask(self, fetch: Fetch) -> Discovered:
        asked_at = self._now()
        try:
            known = discovered(fetch)
        except (LookupError, TypeError, AttributeError) as error:
            raise DecodeError(f"the server's discovery documents are malformed: {error!r}") from error
        with self._lock:
            self._known, self._asked_at = known, asked_at
        return known


def discovered(fetch: Fetch) -> Discovered:
    """Return all resources of the server.

    Raises:
        DecodeError: An answer is not a discovery document, or is a classic one with more than `MOST_GROUP_VERSIONS`.
        Exception: `fetch` raised it for `/api` or `/apis`.
    """
    found: list[FoundResource] = []
    failed: dict[str, str] = {}
    for path in ("/api", "/apis"):
        document = document_of(fetch(path, ACCEPT))
        match document.get("kind"):
            case "APIGroupDiscoveryList":
                found += _aggregated(document, failed)
            case "APIVersions":
                _require_few(path, len(document["versions"]))
                found += _classic("", [f"/api/{version}" for version in document["versions"]], fetch, failed)
            case "APIGroupList":
                _require_few(path, sum(len(group["versions"]) for group in document["groups"]))
                for group in document["groups"]:
                    found += _classic(group["name"], _preferred_first(group), fetch, failed)
            case other:
                raise DecodeError(f"{path}: the answer is a {other or '?'}, not a discovery document")
    return Discovered(tuple(found), failed)


def _require_few(path: str, count: int) -> None:
    if count > MOST_GROUP_VERSIONS:
        raise DecodeError(f"{path}: the answer names {count} group versions, more than {MOST_GROUP_VERSIONS}")


def _aggregated(document: Mapping[str, Any], failed: dict[str, str]) -> Iterator[FoundResource]:
    for group in document.get("items") or ():
        name = (group.get("metadata") or {}).get("name", "")
        for version in group.get("versions") or ():
            if version.get("freshness") == "Stale":
                failed[f"{name}/{version['version']}"] = "its server is unavailable"
            for entry in version.get("resources") or ():
                kind = (entry.get("responseKind") or {}).get("kind", "")
                namespaced = entry.get("scope") == "Namespaced"
                yield from _found(name, version["version"], kind, entry["resource"], namespaced, entry)


def _preferred_first(group: Mapping[str, Any]) -> list[str]:
    preferred = (group.get("preferredVersion") or {}).get("groupVersion")
    versions = [version["groupVersion"] for version in group["versions"]]
    return [f"/apis/{version}" for version in sorted(versions, key=lambda version: version != preferred)]


def _classic(group: str, paths: list[str], fetch: Fetch, failed: dict[str, str]) -> Iterator[FoundResource]:
    for path in paths:
        try:
            document = document_of(fetch(path, "application/json"))
        except (APIError, DecodeError) as error:  # an aggregated server that is down hides its group alone
            failed[path.removeprefix("/apis/")] = kept_text(error)
            continue
        version = path.rpartition("/")[2]
        for entry in document.get("resources") or ():
            if "/" not in entry["name"]:
                yield from _found(group, version, entry["kind"], entry["name"], entry["namespaced"], entry)


def _found(
    group: str, version: str, kind: str, plural: str, namespaced: bool, entry: Mapping[str, Any]
) -> Iterator[FoundResource]:
    try:
        resource: Resource[Any] = Resource(group, version, kind, plural, namespaced)
    except ValueError:  # an aggregated server may use names that are not valid, and for which there is no path
        return
    singular = entry.get("singularResource") or entry.get("singularName") or ""
    names = [kind, plural, singular, *(entry.get("shortNames") or ())]
    yield FoundResource(resource, frozenset(name.lower() for name in names if name))


def _find(known: Discovered, name: str, api_version: str) -> Resource[Any] | None:
    word, _, group = name.lower().partition(".")
    for resource, names in known.found:
        if word in names and api_version in ("", resource.api_version) and group in ("", resource.group):
            return resource
    return None


def _missing(known: Discovered, name: str, api_version: str) -> str:
    where = f" in {api_version}" if api_version else ""
    failed = "; ".join(f"{group_version} could not be read: {why}" for group_version, why in known.failed.items())
    return f"the server has no kind {name!r}{where}" + (f"; {failed}" if failed else "")
