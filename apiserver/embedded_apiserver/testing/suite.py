# SPDX-License-Identifier: Apache-2.0
"""The server for the tests of a process, and the environment variables by which clients find it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from apimachinery.errors import UsageError
from apimachinery.system import SystemHost
from embedded_apiserver.shell.kubeconfig import write_private
from embedded_apiserver.testing.environment import ProcessEnvironment
from embedded_apiserver.testing.server import KubernetesServer
from embedded_apiserver.testing.site import Site

SETTING = "kubernetes_server_environment"
READ_AT_IMPORT = ("kubernetes.config.kube_config", "kubernetes_asyncio.config.kube_config")
"""The modules that read `KUBECONFIG` when they are imported."""


class Suite:
    """The server for the tests of one process, created at its first use.

    Args:
        changes_environment: True to set `KUBECONFIG` to the server's kubeconfig.

    Threads: one.
    """

    def __init__(self, *, changes_environment: bool) -> None:
        self._changes_environment = changes_environment
        self._site: Site | None = None
        self._environment: ProcessEnvironment | None = None

    def prepare(self) -> None:
        """Reserve an address, and if the suite changes them, set the environment variables, so that clients imported
        later find it. Idempotent.

        Connections are refused until the first test with a server.
        """
        if self._site is None:
            self._site = Site(SystemHost())
            if self._changes_environment:
                self._environment = ProcessEnvironment(self._site.kubeconfig)
                self._environment.enter()

    @contextlib.contextmanager
    def server(self, test: str, **options: Any) -> Iterator[KubernetesServer]:
        """Return a context manager that provides an empty server for the test named `test`.

        Raises:
            UsageError: A client has been imported before `KUBECONFIG` was set.
        """
        if self._site is None and self._changes_environment:
            check_clients()
        self.prepare()
        assert self._site is not None
        server = KubernetesServer(self._site, test, **options)
        try:
            yield server
        finally:
            server.close()

    @contextlib.contextmanager
    def fresh(self, test: str) -> Iterator[KubernetesServer]:
        """Return a context manager that provides a server at a new port, to which `KUBECONFIG` refers meanwhile."""
        if self._site is None and self._changes_environment:
            check_clients()
        self.prepare()
        assert self._site is not None
        usual, site = self._site.kubeconfig, Site(SystemHost())
        before = usual.read_bytes()
        with contextlib.ExitStack() as stack:
            stack.callback(site.close)
            server = KubernetesServer(site, test)
            stack.callback(server.close)
            write_private(usual, site.kubeconfig.read_bytes())
            stack.callback(write_private, usual, before)
            yield server

    @property
    def requests_told(self) -> str:
        """The last requests to the current test's server, one in each line; empty if there is no server."""
        present = None if self._site is None else self._site.front.present
        return "" if present is None else present.requests.told()

    def close(self) -> None:
        """Stop the server and restore the environment variables. Idempotent."""
        if self._environment is not None:
            self._environment.leave()
        if self._site is not None:
            self._site.close()
        self._site = self._environment = None


def check_clients() -> None:
    """Check that no client was imported that may have read `KUBECONFIG` before it was set.

    Raises:
        UsageError: Such a client was imported; the message says how to correct that.
    """
    if read := [name for name in READ_AT_IMPORT if name in sys.modules]:
        raise UsageError(
            f"{read[0]} was imported before KUBECONFIG named the server, so it may ask another cluster: "
            f"set `{SETTING} = always` in pytest's configuration, or import KubernetesServerMixin before it"
        )
