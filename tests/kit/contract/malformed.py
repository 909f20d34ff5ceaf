# SPDX-License-Identifier: Apache-2.0
"""Malformed requests: an endless series for each seed, each request with the status codes that are right for it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from apimachinery.http import HTTPRequest
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.kinds.kind import Kind
from kit.contract.malformed_bodies import (
    BROKEN_JSON,
    BROKEN_YAML,
    DIRECTIVES,
    OPERATIONS,
    TEXTS,
    WRONG,
    cut,
    flipped,
    protobuf,
)
from kit.contract.malformed_queries import boolean, query
from kit.contract.sample_objects import collection_of, custom_kind, filled, name_of, places, replaced, sample_of

Pairs = tuple[tuple[str, str], ...]

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

# The right codes: a refusal is the client's fault, and a request that happens to make sense is carried out.
DONE = (200, 201, 202)
REFUSED = (400, 404, 405, 406, 409, 410, 413, 415, 422, 504)
ANY = (*DONE, *REFUSED)


class Case(NamedTuple):
    """A request, the status codes that are right for it, and what is wrong with it."""

    fault: str
    request: HTTPRequest
    codes: tuple[int, ...] = ANY


class Malformed:
    """Yield malformed requests without end, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._kinds = [*KINDS, custom_kind()]
        self._faults: tuple[Callable[[], Case], ...] = (
            self._unknown_path,
            self._odd_path,
            self._method,
            self._list_query,
            self._list_query,
            self._watch_query,
            self._headers,
            self._broken_json,
            self._wrong_types,
            self._wrong_types,
            self._whole_object,
            self._yaml,
            self._protobuf,
            self._patch,
            self._patch,
            self._json_patch,
            self._apply,
            self._delete,
        )

    def __iter__(self) -> Iterator[Case]:
        while True:
            yield self._chance.choice(self._faults)()

    def _kind(self, *, stored: bool = True) -> Kind:
        return self._chance.choice([kind for kind in self._kinds if kind.is_stored or not stored])

    def _object_path(self, kind: Kind) -> str:
        part = self._chance.choice(("", "", *(f"/{part}" for part in kind.subresources)))
        return f"{collection_of(kind)}/{self._chance.choice((name_of(kind), name_of(kind), 'b'))}{part}"

    def _text(self) -> str:
        return self._chance.choice(TEXTS)

    def _unknown_path(self) -> Case:
        path = collection_of(self._kind())
        steps = path.split("/")
        place = self._chance.choice([place for place, step in enumerate(steps) if step not in ("", "default")])
        steps[place] += self._chance.choice(
            ("x", ".", "\0", "%2f", "\ufffd", "S", self._text()[:200].strip("/") or "x")
        )
        method = self._chance.choice(("GET", "POST", "PUT", "DELETE", "PATCH", "BREW"))
        return Case("unknown path", HTTPRequest(method, "/".join(steps), (), {}, b"{}"), (400, 404, 405))

    def _odd_path(self) -> Case:
        kind = self._kind()
        start = self._chance.choice((collection_of(kind), "", "/", "/api", "/apis", "/openapi/v3", "/version"))
        path = start + self._chance.choice(("", "/", "//", "/../", "/.")) + self._text()
        method = self._chance.choice(("GET", "PUT", "DELETE"))
        return Case("odd path", HTTPRequest(method, path, (), {}, b""), (200, 400, 404, 405, 415))

    def _method(self) -> Case:
        kind = self._kind(stored=False)
        method = self._chance.choice(("OPTIONS", "TRACE", "CONNECT", "get", "", "WATCH", "A" * 5000, "\0"))
        path = self._chance.choice((collection_of(kind), self._object_path(kind)))
        # Objects of kinds that are not stored have no path.
        return Case("method", HTTPRequest(method, path, (), {}, b""), (405,) if kind.is_stored else (404, 405))

    def _list_query(self) -> Case:
        method = "DELETE" if self._chance.random() < 0.1 else "GET"
        request = HTTPRequest(method, collection_of(self._kind()), query(self._chance))
        return Case("list query", request, (200, 400, 405, 410, 422, 504))

    def _watch_query(self) -> Case:
        case = self._list_query()
        more = (("watch", boolean(self._chance)), ("allowWatchBookmarks", boolean(self._chance)))
        return case._replace(request=case.request._replace(method="GET", query=(*case.request.query, *more)))

    def _headers(self) -> Case:
        names = ("accept", "content-type", "authorization", "if-none-match", "user-agent", "content-length", "expect")
        values = (
            *(
                JSON,
                f"{JSON};as=Table;v=v1;g=meta.k8s.io",
                f"{JSON};as=Table",
                f"{JSON};as=",
                f"{JSON};;;=;q",
                "*/*;q=x",
            ),
            *(PROTOBUF, f"{JSON};charset=\xff", ",,,,", ";", "Bearer", "Bearer  ", "Basic Og==", "W/", '"', "," * 5000),
            *(f"{JSON};stream=watch", "application/json\0", f"{YAML},{PROTOBUF}", "a/" * 5000, self._text()),
        )
        headers = {name: self._chance.choice(values) for name in self._chance.sample(names, 3)}
        kind = self._kind()
        paths = (
            collection_of(kind),
            f"{collection_of(kind)}/{name_of(kind)}",
            "/api",
            "/apis",
            "/openapi/v3",
            "/openapi/v2",
            "/version",
        )
        path = self._chance.choice(paths)
        method = self._chance.choice(("GET", "GET", "POST", "PUT", "PATCH", "DELETE"))
        body = json.dumps(sample_of(kind)).encode()
        return Case("headers", HTTPRequest(method, path, (), headers, body), (*ANY, 304))

    def _write(self, fault: str, kind: Kind, body: bytes, media_type: str, codes: tuple[int, ...] = ANY) -> Case:
        method = self._chance.choice(("POST", "PUT"))
        parts = [f"{collection_of(kind)}/{name_of(kind)}/{part}" for part in kind.subresources]
        collection = self._chance.choice((collection_of(kind), collection_of(kind), *parts))
        path = collection if method == "POST" or not kind.is_stored else self._object_path(kind)
        validation = self._chance.choice(((), (("fieldValidation", "Strict"),), (("fieldValidation", self._text()),)))
        headers = {"content-type": media_type, "user-agent": self._chance.choice(("a/1", "", self._text()))}
        return Case(fault, HTTPRequest(method if kind.is_stored else "POST", path, validation, headers, body), codes)

    def _broken_json(self) -> Case:
        kind = self._kind(stored=False)
        body = json.dumps(sample_of(kind)).encode()
        spoil = self._chance.choice((cut, flipped, None))
        spoiled = spoil(self._chance, body) if spoil else self._chance.choice(BROKEN_JSON)
        return self._write("broken JSON", kind, spoiled, JSON)

    def _misshapen(self, kind: Kind, *, whole: bool = False) -> dict[str, Any]:
        obj = {**filled(kind.schema, whole=True), **sample_of(kind)} if whole else sample_of(kind)
        for _ in range(self._chance.randrange(1, 3)):
            place = self._chance.choice(list(places(obj)))
            spoiled = replaced(obj, place, self._chance.choice(WRONG))
            obj = spoiled if isinstance(spoiled, dict) and place else obj
        return obj

    def _wrong_types(self) -> Case:
        kind = self._kind(stored=False)
        return self._write("wrong types", kind, json.dumps(self._misshapen(kind)).encode(), JSON)

    def _whole_object(self) -> Case:
        kind = self._kind(stored=False)
        return self._write("wrong types", kind, json.dumps(self._misshapen(kind, whole=True)).encode(), JSON)

    def _yaml(self) -> Case:
        kind = self._kind(stored=False)
        body = json.dumps(sample_of(kind)).encode()
        spoil = self._chance.choice((cut, flipped, None))
        spoiled = spoil(self._chance, body) if spoil else self._chance.choice(BROKEN_YAML)
        return self._write("YAML", kind, spoiled, self._chance.choice((YAML, "text/yaml; charset=x")))

    def _protobuf(self) -> Case:
        kind = self._kind(stored=False)
        body = protobuf(self._chance, kind.api_version, kind.kind)
        spoil = self._chance.choice((cut, flipped))
        return self._write("protobuf", kind, spoil(self._chance, body), PROTOBUF)

    def _patch(self) -> Case:
        kind = self._kind()
        media_type = self._chance.choice((MERGE, STRATEGIC, STRATEGIC, "application/x", f"{MERGE};a=b"))
        patch = self._misshapen(kind, whole=self._chance.random() < 0.5)
        if self._chance.random() < 0.7:
            place = self._chance.choice([one for one in places(patch) if self._at(patch, one)])
            inside = self._at(patch, place)
            patch = replaced(patch, place, {**inside, **self._chance.choice(DIRECTIVES)})
        body = json.dumps(patch).encode()
        if self._chance.random() < 0.2:
            body = self._chance.choice((cut, flipped))(self._chance, body)
        return self._patched(kind, media_type, body)

    @staticmethod
    def _at(value: Any, place: tuple[str | int, ...]) -> dict[str, Any]:
        for step in place:
            value = value[step]
        return value if isinstance(value, dict) else {}

    def _patched(self, kind: Kind, media_type: str, body: bytes, query: Pairs = ()) -> Case:
        headers = {"content-type": media_type}
        return Case("patch", HTTPRequest("PATCH", self._object_path(kind), query, headers, body))

    def _json_patch(self) -> Case:
        kind = self._kind()
        operations = [self._chance.choice(OPERATIONS)(self._chance) for _ in range(self._chance.randrange(1, 6))]
        if self._chance.random() < 0.01:
            operations *= 10_001
        return self._patched(kind, JSON_PATCH, json.dumps(operations).encode())

    def _apply(self) -> Case:
        kind = self._kind()
        config = self._misshapen(kind, whole=self._chance.random() < 0.3)
        body = json.dumps(config).encode()
        if self._chance.random() < 0.3:
            body = self._chance.choice((cut, flipped))(self._chance, body)
        elif self._chance.random() < 0.1:
            body = self._chance.choice(BROKEN_YAML)
        manager = self._chance.choice(((("fieldManager", "m"),), (("fieldManager", self._text()),), ()))
        force = self._chance.choice(((), (("force", boolean(self._chance)),)))
        return self._patched(kind, APPLY, body, (*manager, *force))

    def _delete(self) -> Case:
        kind = self._kind()
        fields: dict[str, Any] = {
            "gracePeriodSeconds": self._chance.choice((-1, 10**30, 2**62, 1.5, "1", None, [])),
            "preconditions": self._chance.choice(({}, [], {"uid": 5}, {"resourceVersion": "x"}, None, "a")),
            "propagationPolicy": self._chance.choice(("Orphan", "orphan", 5, None)),
            "orphanDependents": self._chance.choice((True, "true", None)),
            "dryRun": self._chance.choice((["All"], ["all", "All"], "All", [None])),
            self._text(): self._chance.choice(WRONG),
        }
        chosen = self._chance.sample(list(fields), self._chance.randrange(1, 3))
        body = json.dumps({name: fields[name] for name in chosen}).encode()
        if self._chance.random() < 0.3:
            body = self._chance.choice((cut, flipped))(self._chance, body)
        pairs = query(self._chance, ("gracePeriodSeconds", "orphanDependents", "propagationPolicy", "dryRun"))
        return Case(
            "delete", HTTPRequest("DELETE", self._object_path(kind), pairs, {}, self._chance.choice((body, b"")))
        )
