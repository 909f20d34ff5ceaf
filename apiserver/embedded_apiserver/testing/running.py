# SPDX-License-Identifier: Apache-2.0
"""The server of a block, outside of pytest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from apimachinery.system import SystemHost
from embedded_apiserver.testing.environment import Environment
from embedded_apiserver.testing.server import KubernetesServer, check_options
from embedded_apiserver.testing.site import Site


@contextlib.contextmanager
def run(*, port: int = 0, environment: bool = True, **options: Any) -> Iterator[KubernetesServer]:
    """Run a server in this process, on a thread, until the block ends.

    Args:
        port: The port on loopback; 0 lets the system choose one.
        environment: Have `KUBECONFIG` name the server meanwhile, and unset the variables of a pod. A client that was
            imported before may have read them already.
        options: Options of the server; see `KubernetesServer.reset`.

    Raises:
        UsageError: The port is taken, or an option is wrong.
    """
    check_options(options)
    site = Site(SystemHost(), port)
    found = Environment(site.kubeconfig)
    with contextlib.ExitStack() as stack:
        stack.callback(site.close)
        server = KubernetesServer(site, "run", **options)
        stack.callback(server.close)
        if environment:
            found.enter()
            stack.callback(found.leave)
        yield server
