# SPDX-License-Identifier: Apache-2.0
"""The server of a run of tests: its site, and the environment in which clients find it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from apimachinery.errors import UsageError
from apimachinery.system import SystemHost
from embedded_apiserver.shell.kubeconfig import write_private
from embedded_apiserver.testing.environment import Environment
from embedded_apiserver.testing.server import KubernetesServer
from embedded_apiserver.testing.site import Site

SETTING = "kubernetes_server_environment"
READ_AT_IMPORT = ("kubernetes.config.kube_config", "kubernetes_asyncio.config.kube_config")
"""Modules that read KUBECONFIG when they are imported."""


class Suite:
    """One process's server for tests, made at its first use.

    Args:
        changes_environment: Have `KUBECONFIG` name the server.

    Threads: one.
    """

    def __init__(self, *, changes_environment: bool) -> None:
        self._changes_environment = changes_environment
        self._site: Site | None = None
        self._environment: Environment | None = None

    def prepare(self) -> None:
        """Take an address, and set the environment, so that clients that are imported from now on find it. Idempotent.

        Nothing answers there until the first server of a test.
        """
        if self._site is None:
            self._site = Site(SystemHost())
            if self._changes_environment:
                self._environment = Environment(self._site.kubeconfig)
                self._environment.enter()

    @contextlib.contextmanager
    def server(self, test: str, **options: Any) -> Iterator[KubernetesServer]:
        """Serve an empty storage for a test as long as the block lasts.

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
        """Serve a new storage at a new port, which `KUBECONFIG` names during the block."""
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
        """The last requests of the present test's server, one a line; empty if absent."""
        present = None if self._site is None else self._site.front.present
        return "" if present is None else present.requests.told()

    def close(self) -> None:
        """Stop the server and restore the environment. Idempotent."""
        if self._environment is not None:
            self._environment.leave()
        if self._site is not None:
            self._site.close()
        self._site = self._environment = None


def check_clients() -> None:
    """Check that no client has read `KUBECONFIG` before it is set.

    Raises:
        UsageError: One may have; the message says what to do.
    """
    if read := [name for name in READ_AT_IMPORT if name in sys.modules]:
        raise UsageError(
            f"{read[0]} was imported before KUBECONFIG named the server, so it may ask another cluster: "
            f"set `{SETTING} = always` in pytest's configuration, or import KubernetesServerMixin before it"
        )
