# SPDX-License-Identifier: Apache-2.0
"""`controllers hollow-nodes`: run nodes without machines, and command those that run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from controllers.command.cli_options import duration_option, log_options, server_options, speak
from controllers.hollow.control import command
from controllers.hollow.run import HollowRunOptions, run_hollow_nodes
from controllers.hollow.selection import Selection

_control = click.option(
    "--control", type=click.Path(path_type=Path), metavar="PATH", help="The control socket; by default it is found."
)


@click.group("hollow-nodes", invoke_without_command=True, no_args_is_help=False)
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="How many nodes; required to run them.")
@server_options
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Requests at the same time.")
@duration_option
@click.option("--control", type=click.Path(path_type=Path), metavar="PATH", help="Where to listen for commands.")
@log_options
@click.pass_context
def hollow_nodes(ctx: click.Context, /, count: int | None, log_format: str, verbose: bool, **options: Any) -> None:
    """Run nodes without machines: they register, renew their leases and post their status.

    With neither --embedded nor --kubeconfig: on the cluster of the pod this runs in, else
    on the embedded server. While they run, `kill`, `pause` and `revive` change who lives.
    """
    if ctx.invoked_subcommand is not None:
        return
    if count is None:
        raise click.UsageError("--count is required: say how many nodes", ctx)
    speak(log_format, verbose)
    run_hollow_nodes(HollowRunOptions(count=count, **options))


def _commanding(do: str, text: str) -> Callable[..., None]:
    """A subcommand that prints the names of the nodes it concerned."""

    @hollow_nodes.command(do, help=text)
    @click.argument("names", nargs=-1, metavar="[NAME]...")
    @click.option("--zone", default="", metavar="ZONE", help="All nodes of this zone.")
    @click.option("--rack", default="", metavar="RACK", help="All nodes of this rack, as their label `rack` names it.")
    @click.option("--random", type=click.IntRange(min=1), metavar="N", help="N of them, drawn by chance.")
    @_control
    def act(names: tuple[str, ...], zone: str, rack: str, random: int | None, control: Path | None) -> None:
        for name in command(do, Selection(names, zone, random or 0, rack), control):
            click.echo(name)

    return act


_commanding("kill", "End the kubelets of nodes, without a word to anybody; prints the names.")
_commanding("pause", "Freeze the kubelets of nodes; prints the names of those that ran.")
_commanding("revive", "Let the kubelets of nodes run again; prints the names of those that did not.")
