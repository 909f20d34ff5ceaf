# SPDX-License-Identifier: Apache-2.0
"""What becomes of an object between the client's wish and the store: the rules of create and update."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from controller_runtime.apiserver.kinds import Kind


def prepare_create(
    kind: Kind, obj: Mapping[str, Any], *, namespace: str, now: datetime, uid: str, suffix: str
) -> dict[str, Any]:
    """The object as it will be stored, but for its resourceVersion.

    Args:
        kind: What it is.
        obj: From `decode`; not modified.
        namespace: Of the path; empty for cluster-scoped kinds.
        now: The creationTimestamp.
        uid: A fresh random one.
        suffix: What generateName is followed by: five characters of `SUFFIX_ALPHABET`.

    Raises:
        StatusError: 400, 422, or 500 for a resourceVersion.
    """
    raise NotImplementedError


def check_name(obj: Mapping[str, Any], *, namespace: str, name: str) -> None:
    """Refuse an object that names itself differently from its path. For a PUT that may create; updates check it again.

    Raises:
        StatusError: 400.
    """
    raise NotImplementedError


def prepare_update(
    kind: Kind, old: Mapping[str, Any], new: Mapping[str, Any], *, subresource: str = ""
) -> dict[str, Any]:
    """The object as it will be stored, with `old`'s resourceVersion; equal to `old` when there is nothing to write.

    Args:
        kind: What it is.
        old: As stored, with its resourceVersion.
        new: From `decode` or `admit`; not modified.
        subresource: `status`, `finalize` (namespaces), or empty.

    Raises:
        StatusError: 400 (other name), 409 (other uid, stale version), 422.
    """
    raise NotImplementedError


def is_finished(obj: Mapping[str, Any]) -> bool:
    """Whether a terminating object has nothing left to wait for, so that this write removes it."""
    raise NotImplementedError


def deletion_grace(kind: Kind, obj: Mapping[str, Any], asked: int | None) -> int:
    """Seconds an object is left to end by itself when it is deleted now; 0 for everything but running pods."""
    raise NotImplementedError


def fields_for_selector(kind: Kind, obj: Mapping[str, Any]) -> dict[str, str]:
    """The values a field selector may ask for."""
    raise NotImplementedError


def supported_fields(kind: Kind) -> tuple[str, ...]:
    """The names of these values."""
    raise NotImplementedError


def check_fields(kind: Kind, fields: tuple[str, ...]) -> None:
    """Refuse a field selector over fields that cannot be selected.

    Raises:
        StatusError: 400.
    """
    raise NotImplementedError
