# SPDX-License-Identifier: Apache-2.0
"""Patches: JSON patch, merge patch and strategic merge patch, each a pure function."""

from __future__ import annotations

from typing import Any

from controller_runtime.apiserver.kinds import Kind

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"


def apply_patch(kind: Kind, content_type: str, current: dict[str, Any], patch: bytes) -> dict[str, Any]:
    """`current` with `patch` applied; what the patch leaves alone is shared with `current`, which is not modified.

    The result carries kind and apiVersion and is not checked yet: give it to `admit` with `old=current`.

    Raises:
        StatusError: 400, 413, 415 or 422.
    """
    raise NotImplementedError
