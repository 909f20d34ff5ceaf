# SPDX-License-Identifier: Apache-2.0
"""The options `--perturb` and `--perturb-restart` of the server's command."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import click

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import Handler
from embedded_apiserver.perturbation.handler import PerturbedHandler
from embedded_apiserver.perturbation.plan_file import Perturbation, read
from embedded_apiserver.perturbation.triggers import AtRest
from embedded_apiserver.server import APIServer


@attrs.frozen
class Perturbing:
    """A perturbation from the command line, and the command that restarts the client.

    Attributes:
        plan: The perturbation.
        command: The command and its arguments; empty for none.
    """

    plan: Perturbation
    command: Sequence[str]

    @classmethod
    def of(cls, path: Path | None, command: str) -> Perturbing | None:
        """Return the perturbation that the options describe; None without the options.

        Raises:
            UsageError: The file is not a perturbation, or needs a command that is missing, or there is a command but no
                file, or the command's quotes do not match.
        """
        if path is None:
            if command:
                raise UsageError("--perturb-restart needs --perturb PLAN, which says when the client ends")
            return None
        try:
            made = cls(read(path), shlex.split(command))
        except ValueError as error:
            raise UsageError(f"--perturb-restart {command}: {str(error).lower()}") from None
        if isinstance(made.plan.at, AtRest) and not made.command:
            raise UsageError(f"--perturb {path}: a plan that ends a client at rest needs --perturb-restart COMMAND")
        return made

    def handler(self, host: Host, server: APIServer, inner: Handler) -> PerturbedHandler:
        """Return a handler around `inner` that perturbs the client."""
        return PerturbedHandler(host, server, inner, self.plan, self.restart, _say)

    def restart(self) -> None:
        """Run `command`, which restarts the client, and wait until it ends; print a message if it fails."""
        if not self.command:
            return
        try:
            status = subprocess.run(self.command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode
        except OSError as error:
            _say(f"--perturb-restart: cannot run {self.command[0]}: {error.strerror}")
            return
        if status:
            _say(f"--perturb-restart: {shlex.join(self.command)} ended with status {status}")


def _say(line: str) -> None:
    click.echo(line, err=True)
