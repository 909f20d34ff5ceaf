# SPDX-License-Identifier: Apache-2.0
"""Runs a server for a `with` block, outside of pytest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from apimachinery.system import SystemHost
from embedded_apiserver.testing.environment import ProcessEnvironment
from embedded_apiserver.testing.server import KubernetesServer, check_options
from embedded_apiserver.testing.site import Site


@contextlib.contextmanager
def run(*, port: int = 0, environment: bool = True, **options: Any) -> Iterator[KubernetesServer]:
    """Return a context manager that runs a server in this process, on a thread.

    Args:
        port: The port on the loopback address; 0 lets the system choose one.
        environment: True to set `KUBECONFIG` meanwhile, and to unset the variables that a pod has. A client that was
            imported before may already have read them.
        options: Options of the server; see `KubernetesServer.reset`.

    Raises:
        UsageError: The port is in use, or an option is invalid.
    """
    check_options(options)
    site = Site(SystemHost(), port)
    found = ProcessEnvironment(site.kubeconfig)
    with contextlib.ExitStack() as stack:
        stack.callback(site.close)
        server = KubernetesServer(site, "run", **options)
        stack.callback(server.close)
        if environment:
            found.enter()
            stack.callback(found.leave)
        yield server
