# SPDX-License-Identifier: Apache-2.0
"""Imports of the HTTP server without work that only its library's client needs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_AUTHORITIES = "SSL_CERT_FILE"


@contextlib.contextmanager
def without_authorities() -> Iterator[None]:
    """Let modules that are imported in this block load no certificate authorities of the system.

    `aiohttp.connector` makes a TLS context for its client when it is imported, which parses all authorities of the
    system: 70 to 110 ms of CPU and 2 MiB. That client can then reach no public server, so this is for processes of
    the server's own. Contexts that are made later have the authorities.

    Threads: the main one, before there are others, because the environment belongs to the process.
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
