# SPDX-License-Identifier: Apache-2.0
"""The server of a scenario: an embedded one in a process of its own, or the real one of `--kubeconfig`, emptied."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.contract.real_server import emptied
from kit.processes.kubectl import Kubectl
from kit.processes.servers import Serve

from apimachinery.system import SystemHost
from controller_runtime.testing import APIServerProcess


@pytest.fixture(scope="session")
def serve(chosen: Path | None) -> Serve:
    """Starts the server that a scenario needs."""

    @contextlib.contextmanager
    def serving() -> Iterator[Path]:
        if chosen is not None:
            yield emptied(chosen)
            return
        with APIServerProcess(SystemHost()) as server:
            yield server.kubeconfig

    return serving


@pytest.fixture(scope="module")
def kubectl(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """Commands against one server for the whole module: each test has names, or a kind, of its own."""
    with serve() as kubeconfig:
        yield Kubectl(tmp_path_factory.mktemp("kubectl"), kubeconfig)


@pytest.fixture
def where(chosen: Path | None) -> list[str]:
    """The options by which a command finds its cluster: none, so that it starts an embedded server, or the real one."""
    return [] if chosen is None else [f"--kubeconfig={emptied(chosen)}"]
