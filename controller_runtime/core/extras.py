# SPDX-License-Identifier: Apache-2.0
"""The packages that only a part of the library needs, and the extra that installs each.

A controller on a cluster needs none of them. The part that needs one imports it when it starts, inside `needed_by`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from apimachinery.errors import UsageError

EXTRAS: dict[str, tuple[str, ...]] = {
    "embedded_apiserver": ("embedded-apiserver", "testing"),
    "cryptography": ("cryptography", "webhooks"),
    "rich": ("rich", "cli"),
    "psutil": ("psutil", "agent"),
    "zstandard": ("zstandard", "lean"),
    "wsproto": ("wsproto", "exec"),
    "opentelemetry": ("opentelemetry-api", "tracing"),
}
"""The distribution of each optional module, and the extras that install it."""

BY_THEMSELVES = ("hypothesis",)
"""Packages that no extra for users installs, because pip finds each under the name of its module."""


@contextmanager
def needed_by(what: str, *, extra: str = "") -> Iterator[None]:
    """Return a context manager: a failed import of an optional package becomes an error that says how to install it.

    Args:
        what: The feature that needs the imports of the `with` block, as the beginning of the message: "the live view".
        extra: The extra to name in the message, if several install the package; by default the first of them.

    Raises:
        UsageError: A package of `EXTRAS` or `BY_THEMSELVES` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module in BY_THEMSELVES:
            raise UsageError(f"{what} needs {module}: pip install {module}") from error
        if module not in EXTRAS:
            raise
        distribution, usual, *_ = EXTRAS[module]
        raise UsageError(f"{what} needs {distribution}: {remedy(extra or usual)}") from error


def remedy(extra: str = "", *, controllers: bool = False) -> str:
    """Return the command that installs an extra, or the bundled controllers, from the source of the installed library.

    A note follows it if that source is the library's name; see `Library.remedy`.

    Args:
        extra: The extra; empty for none.
        controllers: Install the bundled controllers with the extras that they require, which then replace `extra`.
    """
    # The parsers of metadata are a tenth of what an idle manager imports, and only this message needs them.
    from controller_runtime.core.library import installed_library

    return installed_library().remedy(extra, controllers=controllers)
