# SPDX-License-Identifier: Apache-2.0
"""The embedded server of a replay: it holds the objects of the record, and answers requests that were not recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from apimachinery.errors import DecodeError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from apimachinery.objects import Cached, cached_from_bytes
from controller_runtime.core.resource_paths import resource_path
from controller_runtime.incidents.incident import Get, Incident, Select, Sent
from controller_runtime.testing.replay.memory import first_states
from embedded_apiserver import APIServer, Draft, Stored, key_of

Key = tuple[str, str]
"""The collection in the storage, and the key of an object in it."""


class World:
    """An embedded server, as a `Handler`; it is made when it is needed, with the objects that are known by then.

    Args:
        host: The server's host.
        incident: The recorded reconcile.
        prepare: Called with each new server; installs the definitions of the program.

    Threads: those of a simulation, one at a time.
    """

    def __init__(self, host: Host, incident: Incident, prepare: Callable[[APIServer], None]) -> None:
        self._host = host
        self._prepare = prepare
        self._kinds = _kinds_of(incident)
        self._objects: dict[Key, Cached | None] = {}
        self._is_changed = False
        self._server: APIServer | None = None
        for cached in first_states(incident):
            self._keep(cached)
        for step in incident.steps:
            if isinstance(step, Get) and not step.version:
                plural = _collection(step.kind.api_version, step.kind.plural)
                self._objects.setdefault((plural, key_of(step.namespace, step.name)), None)
            elif isinstance(step, Sent) and step.status == 404 and (place := _place(step.path)) is not None:
                self._objects.setdefault(place, None)

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Return the response to a request that was not recorded, as `Handler.handle` does."""
        if self._server is None:
            self._server = APIServer(self._host, journal=_Seeds(self._objects))
            self._prepare(self._server)
        self._is_changed = self._is_changed or request.method != "GET"
        if request.method != "GET" and (place := _place(request.path)) is not None:
            self._objects.setdefault(place, None)
        return self._server.handle(request, on_ready)

    def unknown(self, request: HTTPRequest) -> str | None:
        """Return a text about the unknown state that decides the answer to an unrecorded request; None if the state is
        known.
        """
        path = resource_path(request.path)
        if path is None:
            return f"{request.method} {request.path}"
        if _place(request.path) in self._objects:
            return None
        return f"the server's answer to {request.method} {request.path}"

    def saw(self, request: HTTPRequest, response: HTTPResponse) -> None:
        """Take over the object in a recorded answer to a write, so that later requests find what was written."""
        place = _place(request.path)
        if request.method == "GET" or response.status >= 300 or place is None:
            return
        if self._is_changed and self._server is not None:
            self._server.handle(request)  # the present code has changed the world already, so versions are the server's
            return
        self._server = None
        if request.method == "DELETE":
            self._objects[place] = None
            return
        try:
            cached = cached_from_bytes(response.body)
        except DecodeError:
            return
        self._keep(cached)

    def _keep(self, cached: Cached) -> None:
        whole = msgspec.json.decode(cached.raw)
        plural = self._kinds.get((str(whole.get("apiVersion")), str(whole.get("kind"))))
        if plural is not None:
            self._objects[(plural, key_of(cached.namespace, cached.name))] = cached


class _Seeds:
    """A `Journal` that holds the first objects, with their versions, and stores nothing."""

    def __init__(self, objects: dict[Key, Cached | None]) -> None:
        self._objects = objects

    def load(self) -> tuple[int, Iterable[tuple[str, Stored]]]:
        found = {place: _stored(place[1], cached) for place, cached in self._objects.items() if cached is not None}
        for (_, key), _cached in self._objects.items():
            if "/" in key:
                name = key.partition("/")[0]
                found.setdefault(("namespaces", name), _namespace(name))
        return max((each.version for each in found.values()), default=0), [
            (collection, stored) for (collection, _), stored in found.items()
        ]

    def write(self, collection: str, key: str, version: int, raw: bytes | None) -> None:
        return

    def close(self) -> None:
        return


def _stored(key: str, cached: Cached) -> Stored:
    whole: dict[str, Any] = msgspec.json.decode(cached.raw)
    whole.pop("apiVersion", None)
    whole.pop("kind", None)
    version = int(cached.resource_version) if cached.resource_version.isdecimal() else 1
    return Stored(key, version, Draft.of(whole).at(version))


def _namespace(name: str) -> Stored:
    metadata = {"name": name, "uid": f"00000000-0000-4000-8000-{sum(name.encode()):012d}", "labels": {}}
    draft = Draft.of({"metadata": metadata, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
    return Stored(name, 1, draft.at(1))


def _kinds_of(incident: Incident) -> dict[tuple[str, str], str]:
    """Return the collections of the kinds that an incident shows: of its reads, and of its requests."""
    kinds = {}
    for step in incident.steps:
        if isinstance(step, Get | Select):
            kinds[step.kind.api_version, step.kind.kind] = _collection(step.kind.api_version, step.kind.plural)
        elif isinstance(step, Sent) and (path := resource_path(step.path)) is not None and not path.subresource:
            for body in (step.answer, step.body):
                whole = msgspec.json.decode(body)
                if isinstance(whole, dict) and isinstance(kind := whole.get("kind"), str):
                    kinds[str(whole.get("apiVersion")), kind.removesuffix("List")] = path.plural_and_group
    return kinds


def _collection(api_version: str, plural: str) -> str:
    group = api_version.rpartition("/")[0]
    return f"{plural}.{group}" if group else plural


def _place(path: str) -> Key | None:
    found = resource_path(path)
    return None if found is None or not found.name else (found.plural_and_group, key_of(found.namespace, found.name))
