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
    "opentelemetry": ("opentelemetry-api", "tracing"),
}
"""The distribution of each module that is imported so, and the extras that install it."""


@contextmanager
def needed_by(what: str, *, extra: str = "") -> Iterator[None]:
    """Turn the failed import of a package that an extra installs into one line that names the extra.

    Args:
        what: The feature that needs the imports of the `with` block, as the beginning of the message: "the live view".
        extra: The extra to name, for a package that several have; by default the first of them.

    Raises:
        UsageError: A package of `EXTRAS` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        distribution, usual, *_ = EXTRAS[module]
        raise UsageError(f"{what} needs {distribution}: pip install 'controller-runtime[{extra or usual}]'") from error
