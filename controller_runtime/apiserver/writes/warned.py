# SPDX-License-Identifier: Apache-2.0
"""Warnings beside refusals: a client that sent unknown fields is told of them although its write is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from controller_runtime.apiserver.status import StatusError


def warned_of(warnings: Sequence[str]) -> AbstractContextManager[None]:
    """Add warnings to a refusal that is raised inside."""
    return _warned_of(warnings) if warnings else nullcontext()


@contextmanager
def _warned_of(warnings: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except StatusError as error:
        error.warnings = [*warnings, *error.warnings]
        raise
