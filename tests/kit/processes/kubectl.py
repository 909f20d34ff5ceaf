# SPDX-License-Identifier: Apache-2.0
"""A real kubectl, run against the server of a scenario."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

PATIENCE = 120.0  # seconds that one command may take; all take a fraction of one


class Kubectl:
    """Runs commands, each with a limit; its caches and configuration are in a folder of its own."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "HOME": str(folder), "KUBECONFIG": str(kubeconfig)}

    def run(
        self, *arguments: str, sent: str | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, whether it succeeds or not."""
        return subprocess.run(
            ["kubectl", *arguments],
            input=sent,
            env={**self._environment, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def __call__(self, *arguments: str, sent: str | None = None) -> str:
        """Return the output of a command that succeeds."""
        done = self.run(*arguments, sent=sent)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fails(self, *arguments: str, sent: str | None = None) -> str:
        """Return the error output of a command that fails."""
        done = self.run(*arguments, sent=sent)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def apply(self, *objects: Mapping[str, Any]) -> str:
        """Run `kubectl apply` with some objects."""
        return self("apply", "-f", "-", sent=yaml.safe_dump_all(objects))

    @contextlib.contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """Start a command that goes on; it is ended with the block if it has not by then."""
        process = subprocess.Popen(
            ["timeout", str(PATIENCE), "kubectl", *arguments], env=self._environment, stdout=subprocess.PIPE, text=True
        )
        with process:
            yield process
            process.terminate()


def rows(table: str) -> list[list[str]]:
    """Return the cells of a printed table, its head first."""
    return [line.split() for line in table.splitlines()]
