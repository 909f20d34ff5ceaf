# SPDX-License-Identifier: Apache-2.0
"""`controllers hollow-nodes`: runs nodes without machines, and sends commands to a process that runs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from controller_runtime.program.cli_options import configure_logging, duration_option, log_options, server_options
from controllers.hollow.control import command
from controllers.hollow.run import HollowRunOptions, run_hollow_nodes
from controllers.hollow.selection import Selection

_control = click.option(
    "--control", type=click.Path(path_type=Path), metavar="PATH", help="The control socket; found by itself by default."
)


@click.group("hollow-nodes", invoke_without_command=True, no_args_is_help=False)
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="How many nodes; required to run them.")
@server_options
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Number of concurrent requests.")
@duration_option
@click.option("--control", type=click.Path(path_type=Path), metavar="PATH", help="Where to listen for commands.")
@log_options
@click.pass_context
def hollow_nodes(ctx: click.Context, /, count: int | None, log_format: str, verbose: bool, **options: Any) -> None:
    """Run nodes without machines: they register, renew their leases and post their status.

    With neither --embedded nor --kubeconfig they run on the cluster of the pod that this
    process is in; outside of a pod, on the embedded server. While they run, the commands
    `kill`, `pause` and `revive` end, freeze and restart the kubelets of some of them.
    """
    if ctx.invoked_subcommand is not None:
        return
    if count is None:
        raise click.UsageError("--count is required: give the number of nodes", ctx)
    configure_logging(log_format, verbose)
    run_hollow_nodes(HollowRunOptions(count=count, **options))


def _add_command(do: str, text: str) -> Callable[..., None]:
    """Add a subcommand that sends `do` to the running process, and prints the names of the nodes it was done to."""

    @hollow_nodes.command(do, help=text)
    @click.argument("names", nargs=-1, metavar="[NAME]...")
    @click.option("--zone", default="", metavar="ZONE", help="All nodes of this zone.")
    @click.option("--rack", default="", metavar="RACK", help="All nodes of this rack, as their label `rack` names it.")
    @click.option("--random", type=click.IntRange(min=1), metavar="N", help="N of them, chosen at random.")
    @_control
    def act(names: tuple[str, ...], zone: str, rack: str, random: int | None, control: Path | None) -> None:
        for name in command(do, Selection(names, zone, random or 0, rack), control):
            click.echo(name)

    return act


_add_command("kill", "End the kubelets of nodes without a last report; prints the names.")
_add_command("pause", "Freeze the kubelets of nodes; prints the names of those that ran.")
_add_command("revive", "Let the kubelets of nodes run again; prints the names of those that did not run.")
