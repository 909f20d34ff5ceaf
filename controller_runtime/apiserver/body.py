# SPDX-License-Identifier: Apache-2.0
"""What a client sent, as an object of a kind: decoded, typed, normalised, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_runtime.apiserver.kinds import Kind


def decode(kind: Kind, body: bytes, content_type: str, field_validation: str = "") -> tuple[dict[str, Any], list[str]]:
    """The object in a request's body, without kind and apiVersion, metadata first; and warnings.

    Args:
        kind: What the path says it is.
        body: JSON or YAML.
        content_type: Of the request; empty is JSON.
        field_validation: `Ignore`, `Warn` (also when empty) or `Strict`.

    Raises:
        StatusError: 400, 415 or 422.
    """
    raise NotImplementedError


def admit(
    kind: Kind, obj: Mapping[str, Any], field_validation: str = "", *, old: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The same for an object already decoded, such as one just patched.

    Parts that *are* parts of `old` (by identity) were checked before and are taken as they are.
    `obj` is not modified.
    """
    raise NotImplementedError
