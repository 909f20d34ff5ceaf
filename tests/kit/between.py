# SPDX-License-Identifier: Apache-2.0
"""Whether other interpreters run the tests with the marker `ends`."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def is_between(environ: Mapping[str, str], minor: int, which: Callable[[str], str | None]) -> bool:
    """Return whether tox runs the tests on an older and on a newer Python as well.

    Args:
        environ: The environment; `BETWEEN` in it is set by tox.
        minor: The minor version of this Python.
        which: Returns the path of a program; None if it is not installed.
    """
    older, newer = range(11, minor), range(minor + 1, 30)
    return "BETWEEN" in environ and all(any(which(f"python3.{each}") for each in minors) for minors in (older, newer))
