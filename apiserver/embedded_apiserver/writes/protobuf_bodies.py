# SPDX-License-Identifier: Apache-2.0
"""Conversion of bodies to JSON before anything else reads them.

Many clients written in Go send protobuf; the options of a deletion may also be YAML.
"""

from __future__ import annotations

import msgspec

from apimachinery.http import HTTPRequest
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.protobuf.envelope import MEDIA_TYPE
from embedded_apiserver.protobuf.reader import decode_object
from embedded_apiserver.status import bad_request, unsupported_media_type
from embedded_apiserver.typed.body import ACCEPTED, YAML_TYPES
from embedded_apiserver.typed.documents import Unreadable, beginning_of, from_yaml

_JSON = "application/json"
_OTHER_FORMS = (_JSON, "application/yaml")


def readable(request: HTTPRequest, kind: Kind) -> HTTPRequest:
    """Return the request with a body in JSON; unchanged unless its body is protobuf, or delete options in YAML.

    Args:
        request: The client's request.
        kind: The kind in the request's path. Objects of custom kinds cannot be sent as protobuf.

    Raises:
        StatusError: 400, the body is malformed; 413, it contains too many values; 415, it is protobuf of a custom kind,
            or delete options in an unsupported media type.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip()
    if not request.body:
        return request
    if media_type != MEDIA_TYPE:
        return _with_options(request, media_type) if request.method == "DELETE" else request
    if kind.definition is not None and request.method != "DELETE":
        raise unsupported_media_type(_OTHER_FORMS)
    try:
        document = decode_object(request.body)
    except (ValueError, IndexError, OverflowError, RecursionError) as error:
        problem = "unexpected EOF" if isinstance(error, IndexError) else error
        if request.method == "DELETE":
            raise bad_request(str(problem)) from error
        quoted = f"{problem} ({beginning_of(request.body)})"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): {quoted}") from error
    return _as_json(request, document)


def _with_options(request: HTTPRequest, media_type: str) -> HTTPRequest:
    if media_type.lower() in ("", _JSON) or not request.body.strip():
        return request
    if media_type.lower() not in YAML_TYPES:
        raise unsupported_media_type(ACCEPTED)
    try:
        return _as_json(request, from_yaml(request.body)[0])
    except Unreadable as error:
        raise bad_request(f"couldn't get version/kind; {error}") from error


def _as_json(request: HTTPRequest, document: object) -> HTTPRequest:
    headers = {**request.headers, "content-type": _JSON}
    return request._replace(headers=headers, body=msgspec.json.encode(document))
