# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI documents, made from the kinds that are served: in v3 one for each group version, in v2 one for all.

`kubectl` and other generic clients read from them the paths, the patch types they accept, how lists are merged,
and the fields of objects (`kubectl explain`).
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from embedded_apiserver.discovery.definitions import Descriptions, Published
from embedded_apiserver.discovery.gnostic import encoded
from embedded_apiserver.discovery.operations import REF, paths_of, root_of
from embedded_apiserver.discovery.swagger import Swagger, swagger_definition
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.kinds.recorded import definitions_of
from embedded_apiserver.kinds.release import NEWEST, Release

_V2, _V3 = "/openapi/v2", "/openapi/v3"
# The level of gzip. 3 makes a document seven times smaller; the default (9) ten times, in twice the time.
_LEVEL = 3


class Document(NamedTuple):
    """An OpenAPI document in memory.

    Attributes:
        packed: The document, compressed with gzip; most clients accept this form.
        hash: The SHA-256 of the uncompressed document, in hexadecimal digits.
    """

    packed: bytes
    hash: str

    @classmethod
    def of(cls, content: bytes) -> Document:
        """Return a document with this content, which is compressed and hashed here."""
        return cls(gzip.compress(content, _LEVEL, mtime=0), hashlib.sha256(content).hexdigest().upper())


class OpenAPI:
    """The OpenAPI documents of one server. A document is created at the first request, and again after its kinds have
    changed.

    Args:
        release: The Kubernetes release that the server serves.

    Threads: any. Two threads that need the same document at the same time may both create it; the results are equal.
    """

    def __init__(self, release: Release = NEWEST) -> None:
        self._info = {"title": "Kubernetes", "version": release.version}
        self._release = release
        # The documents by path, each with the kinds of which it was made.
        self._made: dict[str, tuple[tuple[Kind, ...], Document]] = {}
        self._of: Kinds | None = None

    def find(self, kinds: Kinds, path: str, *, protobuf: bool = False) -> Document | None:
        """Return the document at a path (without a final slash); None if there is none.

        Args:
            kinds: The currently served kinds.
            path: `/openapi/v2`, `/openapi/v3` for the index, or the path of a group version below it.
            protobuf: True for the document as protobuf, which only v2 has.
        """
        served = {f"{_V3}/{name}": found for name, found in _group_versions(kinds).items()}
        if self._of is not kinds:  # drop documents of kinds that are gone
            self._made = {name: made for name, made in self._made.copy().items() if name in served}
            self._of = kinds
        if path == _V2:
            return self._swagger(tuple(kinds), protobuf)
        if path == _V3:
            return self._cached(path, tuple(kinds), lambda _: self._index(served))
        return self._group_version(path, served[path]) if path in served else None

    def _cached(self, name: str, kinds: tuple[Kind, ...], make: Callable[[tuple[Kind, ...]], Document]) -> Document:
        """Return the document of that name, made again if its kinds have changed."""
        made = self._made
        found = made.get(name)
        if found is None or found[0] != kinds:
            found = made[name] = (kinds, make(kinds))
        return found[1]

    def _group_version(self, path: str, kinds: Iterable[Kind]) -> Document:
        return self._cached(path, tuple(kinds), lambda kinds: Document.of(self._v3_document(kinds)))

    def _index(self, served: Mapping[str, Iterable[Kind]]) -> Document:
        hashes = {path: self._group_version(path, kinds).hash for path, kinds in served.items()}
        links = {
            path.removeprefix(f"{_V3}/"): {"serverRelativeURL": f"{path}?hash={name}"} for path, name in hashes.items()
        }
        return Document.of(msgspec.json.encode({"paths": links}))

    def _swagger(self, kinds: tuple[Kind, ...], protobuf: bool) -> Document:
        encode = encoded if protobuf else msgspec.json.encode
        name = f"{_V2} in protobuf" if protobuf else _V2
        return self._cached(name, kinds, lambda kinds: Document.of(encode(self._v2_document(kinds))))

    def _v3_document(self, kinds: tuple[Kind, ...]) -> bytes:
        descriptions = Descriptions.read(self._release)
        published = Published(kinds, descriptions, definitions_of(str(self._release)))
        paths = self._paths(kinds, descriptions)
        components = {"schemas": _referred(paths, published.find)}
        return msgspec.json.encode({"openapi": "3.0.0", "info": self._info, "paths": paths, "components": components})

    def _v2_document(self, kinds: tuple[Kind, ...]) -> dict[str, Any]:
        descriptions = Descriptions.read(self._release)
        published = Published(kinds, descriptions, definitions_of(str(self._release)))
        paths = self._paths(kinds, descriptions)
        schemas = _referred(paths, lambda name: published.find(name, reduced=True))
        swagger = Swagger()
        return {
            "swagger": "2.0",
            "info": self._info,
            "paths": {path: swagger.path(item) for path, item in paths.items()},
            "definitions": {name: swagger_definition(schema) for name, schema in schemas.items()},
            "parameters": dict(sorted(swagger.parameters.items())),
        }

    def _paths(self, kinds: Iterable[Kind], descriptions: Descriptions) -> dict[str, Any]:
        return dict(sorted(item for kind in kinds for item in paths_of(kind, descriptions.parameters)))


def _group_versions(kinds: Kinds) -> dict[str, list[Kind]]:
    """Return the kinds of each group version, by the path it is served at."""
    found: dict[str, list[Kind]] = {}
    for kind in kinds:
        found.setdefault(root_of(kind).removeprefix("/"), []).append(kind)
    return found


def _referred(paths: Mapping[str, Any], find: Callable[[str], Mapping[str, Any] | None]) -> dict[str, Any]:
    """Return the definitions that the paths refer to, and those that these refer to."""
    found: dict[str, Any] = {}
    waiting = list(_references(paths))
    while waiting:
        name = waiting.pop()
        if name not in found and (schema := find(name)) is not None:  # a default value may look like a reference
            found[name] = schema
            waiting += _references(schema)
    return dict(sorted(found.items()))


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "$ref" and isinstance(value, str):
                yield value.removeprefix(REF)
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)
