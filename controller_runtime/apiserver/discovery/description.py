# SPDX-License-Identifier: Apache-2.0
"""Answers to clients that ask what there is: discovery in both forms, and OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from controller_runtime.api.http import HTTPResponse
from controller_runtime.apiserver.answers import document, tagged
from controller_runtime.apiserver.discovery.discovery import AGGREGATED, aggregated_document, discovery_document
from controller_runtime.apiserver.discovery.openapi import openapi_document
from controller_runtime.apiserver.kinds.kind import Kinds
from controller_runtime.apiserver.reads.negotiation import accepts


def self_description(kinds: Kinds, path: str, headers: Mapping[str, str]) -> HTTPResponse | None:
    """The document at `path` (without a final slash), or None if there is none."""
    known = headers.get("if-none-match", "")
    if accepts(headers.get("accept", ""), AGGREGATED) and (content := aggregated_document(kinds, path)) is not None:
        return tagged(msgspec.json.encode(content), AGGREGATED, known)
    if (body := openapi_document(kinds, path)) is not None:
        return tagged(body, "application/json", known)
    classic = discovery_document(kinds, path)
    return None if classic is None else document(classic)
