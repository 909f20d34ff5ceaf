# SPDX-License-Identifier: Apache-2.0
"""Warnings: of owners that are named twice, and beside refusals, whose clients are told of unknown fields, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from controller_runtime.apiserver.status import StatusError

_TWICE = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject "
    "such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)

_UNWARNED = nullcontext()


def warned_of(warnings: Sequence[str]) -> AbstractContextManager[None]:
    """Add warnings to a refusal that is raised inside."""
    return _warned_of(warnings) if warnings else _UNWARNED


@contextmanager
def _warned_of(warnings: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except StatusError as error:
        error.warnings = [*warnings, *error.warnings]
        raise


def of_owners(owners: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the warning of references to owners that occur twice; they are stored once."""
    if len(owners) < 2:
        return []
    again = [str(one.get("uid", "")) for index, one in enumerate(owners) if one in owners[:index]]
    return [_TWICE.format(", ".join(dict.fromkeys(again)))] if again else []
