# SPDX-License-Identifier: Apache-2.0
"""Imports of the server without work that it does not need."""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from apimachinery.host import Host
from embedded_apiserver.shell.address import Address
from embedded_apiserver.shell.identity import Identity, identity_from_child

_AUTHORITIES = "SSL_CERT_FILE"
_PACKAGE = "aiohttp"


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


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Return a context manager inside which no garbage is collected.

    The objects that imports create live as long as the process, but grow in number, so that the collector visits them
    again and again: a tenth of the server's start.

    Threads: the main thread, before there are others, because the collector belongs to the process.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def without_client() -> Iterator[None]:
    """Return a context manager inside which modules of aiohttp's server are imported without its client.

    The package's own file imports the whole client, which a server does not use: 4 MiB, and a tenth of the server's
    start. Inside, that file is not executed; afterwards it is executed when a name of it is first used, so that
    `import aiohttp; aiohttp.ClientSession` works as ever. Nothing happens if aiohttp is imported already.

    Threads: the main thread, before there are others.
    """
    if _PACKAGE in sys.modules or (spec := importlib.util.find_spec(_PACKAGE)) is None or spec.loader is None:
        yield
        return
    package, loader = importlib.util.module_from_spec(spec), spec.loader

    def executed(name: str) -> object:
        """Execute the package when a name is used that no import of a submodule has set."""
        package.__dict__.pop("__getattr__", None)
        loader.exec_module(package)
        return getattr(package, name)

    package.__dict__["__version__"] = ""  # `aiohttp.http` imports it for the header `Server`
    sys.modules[_PACKAGE] = package
    try:
        yield
    finally:
        del package.__dict__["__version__"]
        package.__dict__["__getattr__"] = executed


def identity_beside_imports(data_dir: Path | None, host: Host, address: Address) -> Identity:
    """Return the server's identity, which a child process makes while this one imports the server.

    For the errors see `identity_of`.

    Threads: the main thread, before there are others.
    """
    with without_collections(), without_authorities(), without_client():
        identity_of = identity_from_child(data_dir, host.now(), address.certified)
        import embedded_apiserver.server
        import embedded_apiserver.shell.process
        import embedded_apiserver.shell.webhook_calls  # noqa: F401

        return identity_of()
