# SPDX-License-Identifier: Apache-2.0
"""The command line: parses options. `controllers.command.run` composes what runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import click

from controller_runtime.program.cli_options import ProgramCommand, program_options
from controller_runtime.program.command import SETTINGS, take_view_options
from controller_runtime.program.command import main as run_main
from controller_runtime.program.lazy_group import LazyGroup
from controllers.command.cli_lifecycle import lifecycle_flags, take_lifecycle_flags

_COMMANDS = {
    "agent": "controllers.command.cli_agent:agent",
    "apiserver": "controllers.command.cli_apiserver:apiserver",
    "hollow-nodes": "controllers.command.cli_hollow:hollow_nodes",
}
"""The place of each command except `run`."""


@click.group(cls=LazyGroup, lazy=_COMMANDS, context_settings=SETTINGS, no_args_is_help=False)
@click.version_option(package_name="controller-runtime", prog_name="controllers")
def cli() -> None:
    """Kubernetes controllers in Python, on a cluster or on the embedded API server."""


@cli.command("run", cls=ProgramCommand)
@click.option(
    "--controllers",
    "controllers",
    metavar="NAMES",
    default=None,
    help="Comma-separated names, or * for all. Default on the embedded server: *; on a cluster it is required.",
)
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
@click.option(
    "--workloads",
    is_flag=True,
    help="Run Deployments, StatefulSets, DaemonSets, Jobs, CronJobs and a scheduler, on hollow nodes (3 by default).",
)
@lifecycle_flags
@program_options
def run_command(**options: Any) -> int:
    """Run controllers until stopped.

    With neither --embedded nor --kubeconfig they run on the cluster of the pod that this
    process is in; outside of a pod, on the embedded server. On a terminal a live table is
    shown, unless --log-format is json or -v is given.
    """
    from controllers.command.run import (  # here, because it costs 10 MiB that no other command needs
        RunOptions,
        run,
    )

    live = take_view_options(options)
    lifecycle = take_lifecycle_flags(options)
    return run(RunOptions(live=live, lifecycle=lifecycle, **options))  # click has checked the values


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, and exit with its status; see `program.command.main`."""
    run_main(cli, arguments, "controllers")
