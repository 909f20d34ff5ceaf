# SPDX-License-Identifier: Apache-2.0
"""Indents JSON for people: in browsers, in curl and Wget, and for clients that request it with `pretty`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from apimachinery.http import HTTPRequest, HTTPResponse

_AGENTS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_PARAMETER = re.compile(r";\s*pretty\s*=\s*1\s*(?:[;,]|$)")
# Documents of megabytes, whose bytes clients keep by their hash.
_AS_THEY_ARE = "/openapi/"
_ALWAYS = "/version"


def readable_answer(request: HTTPRequest, response: HTTPResponse) -> HTTPResponse:
    """Return the response with indented JSON and no final newline if a real API server would do so for this client;
    otherwise unchanged.
    """
    if not response.body or not response.headers.get("content-type", "").startswith("application/json"):
        return response
    path = request.path.rstrip("/")
    if path.startswith(_AS_THEY_ARE) or not (path == _ALWAYS or _is_for_people(request)):
        return response
    return response._replace(body=msgspec.json.format(response.body, indent=2).rstrip())


def _is_for_people(request: HTTPRequest) -> bool:
    headers: Mapping[str, str] = request.headers
    if _PARAMETER.search(headers.get("accept", "")):
        return True
    asked = next((value for name, value in request.query if name == "pretty"), "")
    return asked in _TRUE if asked else headers.get("user-agent", "").startswith(_AGENTS)
