# SPDX-License-Identifier: Apache-2.0
"""Which kinds the server has, and where: asked when a name is needed, kept, and asked again when a name is not found.

Newer servers tell it all in two aggregated documents; for older ones the classic documents
are read, one for each group version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import attrs

from controller_runtime.api.http import HTTPResponse
from controller_runtime.api.resources import Resource
from controller_runtime.client.answers import document_of
from controller_runtime.core.errors import APIError, DecodeError, NotFound
from controller_runtime.core.host import Host

ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
"""Asks for the aggregated document, and takes the classic one."""

MOST_GROUP_VERSIONS = 5000
"""Classic documents that are asked for, one for each; a cluster with a thousand definitions has some hundreds."""

# A name that is not found is asked for again, but a loop that waits for one is no reason to ask without end.
_FRESH = 2.0

Fetch = Callable[[str, str], HTTPResponse]
"""GET of a path with an `accept`; raises what the answer stands for."""


class Found(NamedTuple):
    """A resource and the names it goes by, in lower case."""

    resource: Resource[Any]
    names: frozenset[str]


@attrs.frozen
class Discovered:
    """What a server has.

    Attributes:
        found: All resources, in the server's order of preference.
        failed: What could not be learned of, and why: group versions whose own servers are away.
    """

    found: tuple[Found, ...]
    failed: Mapping[str, str]


class Discovery:
    """Finds resources by the names people give them. Threads: any.

    Args:
        host: Its clock tells how old an answer is.
        fetch: Asks the server.
    """

    def __init__(self, host: Host, fetch: Fetch) -> None:
        self._now = host.monotonic
        self._fetch = fetch
        # Guards the two below; never held while the server is asked.
        self._lock = host.lock("discovery")
        self._known = Discovered((), {})
        self._asked_at = -_FRESH

    def resource(self, name: str, api_version: str = "") -> Resource[Any]:
        """See `Client.resource`."""
        with self._lock:
            known, is_fresh = self._known, self._now() - self._asked_at < _FRESH
        found = _find(known, name, api_version)
        if found is None and not (is_fresh and known.found):
            known = self._ask()
            found = _find(known, name, api_version)
        if found is None:
            raise NotFound(_missing(known, name, api_version), code=404, reason="NotFound")
        return found

    def _ask(self) -> Discovered:
        asked_at = self._now()
        try:
            known = discovered(self._fetch)
        except (LookupError, TypeError, AttributeError) as error:
            raise DecodeError(f"the server's discovery documents are malformed: {error!r}") from error
        with self._lock:
            self._known, self._asked_at = known, asked_at
        return known


def discovered(fetch: Fetch) -> Discovered:
    """All that the server tells.

    Raises:
        DecodeError: An answer is no discovery document, or names more group versions than are asked for.
        Exception: What `fetch` raises for `/api` and `/apis`.
    """
    found: list[Found] = []
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


def _aggregated(document: Mapping[str, Any], failed: dict[str, str]) -> Iterator[Found]:
    for group in document.get("items") or ():
        name = (group.get("metadata") or {}).get("name", "")
        for version in group.get("versions") or ():
            if version.get("freshness") == "Stale":
                failed[f"{name}/{version['version']}"] = "its server is away"
            for entry in version.get("resources") or ():
                kind = (entry.get("responseKind") or {}).get("kind", "")
                namespaced = entry.get("scope") == "Namespaced"
                yield from _found(name, version["version"], kind, entry["resource"], namespaced, entry)


def _preferred_first(group: Mapping[str, Any]) -> list[str]:
    preferred = (group.get("preferredVersion") or {}).get("groupVersion")
    versions = [version["groupVersion"] for version in group["versions"]]
    return [f"/apis/{version}" for version in sorted(versions, key=lambda version: version != preferred)]


def _classic(group: str, paths: list[str], fetch: Fetch, failed: dict[str, str]) -> Iterator[Found]:
    for path in paths:
        try:
            document = document_of(fetch(path, "application/json"))
        except (APIError, DecodeError) as error:  # one group's own server is no reason to know nothing of the others
            failed[path.removeprefix("/apis/")] = str(error)
            continue
        version = path.rpartition("/")[2]
        for entry in document.get("resources") or ():
            if "/" not in entry["name"]:
                yield from _found(group, version, entry["kind"], entry["name"], entry["namespaced"], entry)


def _found(
    group: str, version: str, kind: str, plural: str, namespaced: bool, entry: Mapping[str, Any]
) -> Iterator[Found]:
    try:
        resource: Resource[Any] = Resource(group, version, kind, plural, namespaced)
    except ValueError:  # an aggregated server may name its own as it likes; paths of ours cannot say it
        return
    singular = entry.get("singularResource") or entry.get("singularName") or ""
    names = [kind, plural, singular, *(entry.get("shortNames") or ())]
    yield Found(resource, frozenset(name.lower() for name in names if name))


def _find(known: Discovered, name: str, api_version: str) -> Resource[Any] | None:
    word, _, group = name.lower().partition(".")
    for resource, names in known.found:
        if word in names and api_version in ("", resource.api_version) and group in ("", resource.group):
            return resource
    return None


def _missing(known: Discovered, name: str, api_version: str) -> str:
    where = f" in {api_version}" if api_version else ""
    away = "; ".join(f"{group_version} is not known: {why}" for group_version, why in known.failed.items())
    return f"the server has no kind {name!r}{where}" + (f"; {away}" if away else "")
