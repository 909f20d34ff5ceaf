# SPDX-License-Identifier: Apache-2.0
"""Rules of file paths."""

from __future__ import annotations

from collections.abc import Iterator

from embedded_apiserver.causes import invalid
from embedded_apiserver.status import Cause


def no_backsteps(path: str, field: str) -> list[Cause]:
    """Return a validation error if a path contains a `..` component."""
    return [invalid(field, path, "must not contain '..'")] if ".." in path.split("/") else []


def descending(path: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of a path that must be relative, without `..` components."""
    if path.startswith("/"):
        yield invalid(field, path, "must be a relative path")
    yield from no_backsteps(path, field)


def local_file(path: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of a file's path in a volume; names that begin with `..` are reserved."""
    yield from descending(path, field)
    if path.startswith("..") and not path.startswith("../"):
        yield invalid(field, path, "must not start with '..'")
