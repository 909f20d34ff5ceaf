# SPDX-License-Identifier: Apache-2.0
"""Conversion of protobuf bodies, which many clients written in Go send, to JSON before anything else reads them."""

from __future__ import annotations

import msgspec

from controller_runtime.api.http import HTTPRequest
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.protobuf.envelope import MEDIA_TYPE
from controller_runtime.apiserver.protobuf.reader import decode_object
from controller_runtime.apiserver.status import bad_request, unsupported_media_type

_OTHER_FORMS = ("application/json", "application/yaml")


def readable(request: HTTPRequest, kind: Kind) -> HTTPRequest:
    """Return the request with its body in JSON; it is unchanged if its body is not protobuf.

    Args:
        request: The client's request.
        kind: The kind that its path names. Objects of custom kinds cannot be sent as protobuf.

    Raises:
        StatusError: 400, the body is malformed; 413, it holds too many values; 415, it is an object of a custom kind.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != MEDIA_TYPE or not request.body:
        return request
    if kind.definition is not None and request.method != "DELETE":
        raise unsupported_media_type(_OTHER_FORMS)
    try:
        document = decode_object(request.body)
    except (ValueError, IndexError, OverflowError, RecursionError) as error:
        raise bad_request(f"the object provided is unrecognized: protobuf parse error: {error}") from error
    headers = {**request.headers, "content-type": "application/json"}
    return request._replace(headers=headers, body=msgspec.json.encode(document))
