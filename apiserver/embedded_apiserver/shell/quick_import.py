# SPDX-License-Identifier: Apache-2.0
"""Imports of the HTTP server without work that only its library's client needs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_AUTHORITIES = "SSL_CERT_FILE"


@contextlib.contextmanager
def without_authorities() -> Iterator[None]:
    """Return a context manager inside which imported modules load no certificate authorities of the system.

    When `aiohttp.connector` is imported, it creates a TLS context for its client, which parses all authorities of the
    system: 70 to 110 ms of CPU and 2 MiB. Without them that client cannot reach public servers, so use this only in a
    process of the server. TLS contexts that are created later have the authorities.

    Threads: the main thread, before there are others, because the environment belongs to the process.
    """
    before = os.environ.get(_AUTHORITIES)
    os.environ[_AUTHORITIES] = os.devnull
    try:
        yield
    finally:
        if before is None:
            del os.environ[_AUTHORITIES]
        else:
            os.environ[_AUTHORITIES] = before
