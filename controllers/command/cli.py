# SPDX-License-Identifier: Apache-2.0
"""The command line: parses options and sets the exit status. `controllers.command.run` composes what runs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import click

from controller_runtime.core.errors import ControllerRuntimeError, UsageError
from controller_runtime.core.log import get_logger
from controller_runtime.manager.endpoints import NOWHERE
from controller_runtime.program import stderr
from controller_runtime.program.cli_options import configure_logging, duration_option, log_options, server_options
from controllers.command.cli_lifecycle import lifecycle_flags, take_lifecycle_flags

log = get_logger(__name__)

FAILED, BAD_USAGE = 1, 2

_COMMANDS: Mapping[str, str] = {
    "agent": "controllers.command.cli_agent:agent",
    "apiserver": "controllers.command.cli_apiserver:apiserver",
    "hollow-nodes": "controllers.command.cli_hollow:hollow_nodes",
}
"""Where each command except `run` is; imported when it is called, so that no command pays for another's imports."""


class _Commands(click.Group):
    """A group that imports a command when it is looked up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_COMMANDS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,
)
@click.version_option(package_name="controller-runtime", prog_name="controllers")
def cli() -> None:
    """Kubernetes controllers in Python, on a cluster or on the embedded API server."""


@cli.command("run")
@click.option(
    "--controllers",
    "controllers",
    metavar="NAMES",
    default=None,
    help="Comma-separated names, or * for all. Default on the embedded server: *; on a cluster it is required.",
)
@server_options
@click.option(
    "--hollow-nodes",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Register N nodes without machines, through the API.",
)
@click.option(
    "--pods",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Create N pods without containers, in turn on the hollow nodes.",
)
@click.option(
    "--toleration-seconds",
    type=int,
    metavar="SECONDS",
    help="Seconds for which these pods stay on a node that is unreachable; 300 by default, as for all pods.",
)
@click.option(
    "--allow-fake-nodes", is_flag=True, help="Register hollow nodes on a cluster that is not the embedded one."
)
@click.option("--leader-elect", is_flag=True, help="Run the controllers only while this replica leads.")
@click.option(
    "--coordinated", is_flag=True, help="Register as a candidate, and lead when lease-candidate-election elects it."
)
@click.option(
    "--binary-version", metavar="VERSION", help="Version that the candidate declares; this package's by default."
)
@click.option(
    "--emulation-version",
    metavar="VERSION",
    help="Version that the candidate says it behaves like; its binary version by default.",
)
@click.option(
    "--leader-election-id", metavar="ID", help="Name of the lease that the replicas share; controllers by default."
)
@click.option("--leader-election-namespace", metavar="NS", help="Where that lease is; kube-system by default.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Workers of each controller.")
@duration_option
@click.option(
    "--metrics-bind-address",
    metavar="ADDRESS",
    default=NOWHERE,
    help="Serve /metrics and /debug/controllers at HOST:PORT, or at :PORT of every interface; 0 (default): nowhere.",
)
@click.option(
    "--health-probe-bind-address",
    metavar="ADDRESS",
    default=NOWHERE,
    help="Serve /healthz, /livez and /readyz; the address as above.",
)
@lifecycle_flags
@log_options
def run_command(log_format: str, verbose: bool, **options: Any) -> None:
    """Run controllers until stopped.

    With neither --embedded nor --kubeconfig they run on the cluster of the pod that this
    process is in; outside of a pod, on the embedded server. On a terminal a live table is
    shown, unless --log-format is json or -v is given.
    """
    from controllers.command.run import (  # here, because it costs 10 MiB that no other command needs
        RunOptions,
        run,
    )

    configure_logging(log_format, verbose)
    live = log_format == "text" and not verbose and sys.stderr.isatty()
    run(RunOptions(live=live, lifecycle=take_lifecycle_flags(options), **options))  # click has checked the values


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit: 0 after a regular stop, 1 after a failure, 2 for bad usage."""
    argv = sys.argv[1:] if arguments is None else arguments
    verbose = "-v" in argv or "--verbose" in argv
    if sys.stderr is sys.__stderr__:  # not while a test or an embedding program captures it
        stderr.install()
    try:
        status = cli.main(args=argv, prog_name="controllers", standalone_mode=False)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "controllers"
        message = error.format_message().rstrip(".")
        click.echo(f"controllers: {message[:1].lower()}{message[1:]}; `{path} --help` shows what there is", err=True)
        status = BAD_USAGE
    except click.Abort:
        status = FAILED
    except ControllerRuntimeError as error:
        if verbose:
            log.exception("failed")
        click.echo(f"controllers: {error}", err=True)
        status = BAD_USAGE if isinstance(error, UsageError) else FAILED
    sys.exit(status if isinstance(status, int) else 0)
