# SPDX-License-Identifier: Apache-2.0
"""Answers requests for the documents in which the server describes itself: discovery in both forms, and OpenAPI."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from datetime import timedelta
from email.utils import format_datetime

import msgspec

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from embedded_apiserver.answers import document, tagged
from embedded_apiserver.discovery.discovery import AGGREGATED, aggregated_document, discovery_document
from embedded_apiserver.discovery.openapi import Document, OpenAPI
from embedded_apiserver.kinds.kind import Kinds
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.options import query_of
from embedded_apiserver.protobuf.envelope import MEDIA_TYPE as PROTOBUF
from embedded_apiserver.protobuf.envelope import enveloped_document
from embedded_apiserver.protobuf.messages import DISCOVERY as PACKAGE
from embedded_apiserver.reads.negotiation import (
    DOCUMENTS,
    aggregated_type,
    check_known,
    document_type,
    first_accepted,
    only_accepted,
)

_JSON = "application/json"
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# kubectl asks with `@`, which is not valid in a media type; the answer has the valid name.
_FORMS = {_JSON: _JSON, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": _PROTOBUF, _PROTOBUF: _PROTOBUF}
# The slashes in the path of a group version, `/apis/apps/v1`.
_DEEP = 3
# The time for which clients may cache a document that never changes.
_CACHE_TIME = timedelta(days=365)


class SelfDescription:
    """Answers requests for discovery and OpenAPI documents.

    Args:
        host: The source of time, for expiry headers.
        release: The Kubernetes release that the server serves.

    Threads: any.
    """

    def __init__(self, host: Host, release: Release = NEWEST) -> None:
        self._host = host
        self._release = release
        self._openapi = OpenAPI(release)

    def answer(self, kinds: Kinds, path: str, request: HTTPRequest) -> HTTPResponse | None:
        """Return a response with the discovery or OpenAPI document at `path` (without a final slash).

        None if `path` is not the path of such a document.
        """
        if path.startswith("/openapi/"):
            return self._openapi_answer(kinds, path, request)
        accept, known = (request.headers.get(name, "") for name in ("accept", "if-none-match"))
        media_type = aggregated_type(accept, AGGREGATED)
        if media_type and (content := aggregated_document(kinds, path)) is not None:
            is_protobuf = media_type == PROTOBUF
            body = enveloped_document(content, PACKAGE) if is_protobuf else msgspec.json.encode(content) + b"\n"
            parameters = ";".join(f"{name}={AGGREGATED[name]}" for name in ("g", "v", "as"))
            return tagged(body, f"{media_type};{parameters}", known)
        classic = discovery_document(kinds, path, self._release)
        return None if classic is None else document(classic, _classic_type(path, accept))

    def _openapi_answer(self, kinds: Kinds, path: str, request: HTTPRequest) -> HTTPResponse | None:
        media_type = _media_type(path, request.headers.get("accept", ""))
        found = self._openapi.find(kinds, path, protobuf=media_type == _PROTOBUF)
        if found is None:
            return None
        if not media_type:
            return HTTPResponse(406, {"vary": "Accept"})
        wanted = query_of(request.query).get("hash", "") if path.startswith("/openapi/v3/") else ""
        if wanted not in ("", found.hash):
            return HTTPResponse(301, {"location": f"{path}?hash={found.hash}", "vary": "Accept"})
        return _packed(found, media_type, request.headers, self._lasting() if wanted else {})

    def _lasting(self) -> dict[str, str]:
        """Return the headers of a document asked for by its hash, which never changes."""
        until = format_datetime(self._host.now() + _CACHE_TIME, usegmt=True)
        return {"cache-control": "public, immutable", "expires": until}


def _classic_type(path: str, accept: str) -> str:
    """Return the media type of a classic document.

    Raises:
        StatusError: 406, the client accepts none of these types.
    """
    if path == "/version":  # no object of the API, so it has no message
        check_known(accept or _JSON, (_JSON,))
        return _JSON
    if path == "/api" or path.startswith("/api/") or path.count("/") == _DEEP:
        check_known(accept or _JSON, DOCUMENTS)
    if not (media_type := document_type(accept)):
        raise only_accepted(DOCUMENTS)
    return media_type


def _media_type(path: str, accept: str) -> str:
    """Return the media type of the answer; empty if the client accepts none of those that exist."""
    if path == "/openapi/v3":  # the index is JSON for every client
        return _JSON
    forms = tuple(_FORMS) if path == "/openapi/v2" else (_JSON,)
    return _FORMS.get(first_accepted(accept, forms), "")


def _packed(found: Document, media_type: str, asked: Mapping[str, str], lasting: Mapping[str, str]) -> HTTPResponse:
    tag = f'"{found.hash}"'
    headers = {"etag": tag, "vary": "Accept-Encoding, Accept", **lasting}
    if tag in (one.strip().removeprefix("W/") for one in asked.get("if-none-match", "").split(",")):
        return HTTPResponse(304, headers)
    headers["content-type"] = media_type
    if "gzip" in (one.strip() for one in asked.get("accept-encoding", "").split(",")):
        return HTTPResponse(200, {**headers, "content-encoding": "gzip"}, found.packed)
    return HTTPResponse(200, headers, gzip.decompress(found.packed))
