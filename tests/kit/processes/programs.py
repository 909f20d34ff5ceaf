# SPDX-License-Identifier: Apache-2.0
"""Programs of a user in a folder of their own, run as processes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from apimachinery.system import SystemHost
from controller_runtime.client.client import Client
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport

PROGRAM = """
import logging

import attrs

from controller_runtime import Client, Controller, Lister, Manager, Reconciler, Request, Result, labels_of, run
from controller_runtime.resources import NODES
from words import WORD


@attrs.frozen
class Greet(Reconciler):
    nodes: Lister
    client: Client

    def reconcile(self, request: Request) -> Result:
        node = self.nodes.get(request)
        if node is not None and labels_of(node).get("greeted") != WORD:
            logging.getLogger("greet").info("%s says %s", request.name, WORD)
            self.client.patch(NODES, request, {"metadata": {"labels": {"greeted": WORD}}})
        return Result()


def setup(manager: Manager) -> None:
    manager.add(Controller("greet", Greet(manager.lister(NODES, dict), manager.client)).watch(NODES))


if __name__ == "__main__":
    run(setup)
"""
"""A program that labels each node with a word of another module."""


def write_program(folder: Path, word: str = "hello") -> Path:
    """Write the program and its module into `folder`, and return the program's path."""
    (folder / "words.py").write_text(f"WORD = {word!r}\n")
    script = folder / "greeter.py"
    script.write_text(PROGRAM)
    return script


def module_command(location: str, *options: str) -> list[str]:
    """Return the command that runs the program at `location` without a main."""
    return [sys.executable, "-m", "controller_runtime", "run", location, *options]


def clean_environment() -> dict[str, str]:
    """Return the environment without what names a cluster or sets an option, and with this package."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CONTROLLER_", "KUBE"))}
    return {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@contextlib.contextmanager
def client_of(kubeconfig: Path | str) -> Iterator[Client]:
    """Yield a client of the server that a kubeconfig names."""
    host = SystemHost()
    with contextlib.closing(HTTPTransport(host, from_kubeconfig(kubeconfig))) as transport:
        yield Client(host, transport)
