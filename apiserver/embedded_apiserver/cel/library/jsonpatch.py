# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' function for the paths of JSON patches, which mutating policies may use."""

from __future__ import annotations

from embedded_apiserver.cel.declarations import Function, Library, Overload
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.types import STRING


def escape_key(key: str) -> str:
    """Return a key escaped for a JSON pointer: `~` as `~0`, and `/` as `~1`."""
    return key.replace("~", "~0").replace("/", "~1")


JSON_PATCH = Library(
    (
        Function(
            "jsonpatch.escapeKey",
            (
                Overload(
                    *("string_jsonpatch_escapeKey_string", (STRING,), STRING, escape_key),
                    cost=costs.read(),
                    estimate=costs.read_estimate(is_result=True),
                ),
            ),
        ),
    )
)
"""The functions of JSON patches."""
