# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks [NAME…] [--nodes N] [--runs N] [--json FILE] [--plot DIR]`: writes a table, JSON and plots."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import attrs
import click
from rich.console import Console
from rich.table import Table

from benchmarks.harness import Row
from benchmarks.plot import plot
from benchmarks.real_suite import Real
from benchmarks.suites import SUITES, Sizes
from controller_runtime.core.system import SystemHost


def table(rows: list[Row]) -> Table:
    """Return the table to print."""
    shown = Table(title=f"{platform.machine()}, Python {platform.python_version()}", title_justify="left")
    shown.add_column("work")
    shown.add_column("who")
    shown.add_column("figures")
    shown.add_column("note")
    for row in rows:
        shown.add_row(row.work, row.who, "\n".join(f"{k} {v:.4g}" for k, v in row.figures.items()), row.note)
    return shown


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice(list(SUITES)))
@click.option("--nodes", type=click.IntRange(min=2001), default=10000, show_default=True, help="Nodes of 7 KB each.")
@click.option(
    "--runs", type=click.IntRange(min=1), default=3, show_default=True, help="Runs of each; medians are shown."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the figures to this file as well.")
@click.option(
    "--plot", "plot_directory", type=click.Path(path_type=Path), help="Write plots of cost against size to it."
)
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, path_type=Path),
    help="Measure sync, renewals and an idle manager on this server, which has nodes already, and nothing else.",
)
@click.option(
    "--anchors",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="With --kubeconfig: the programs built from benchmarks/peers/go.",
)
@click.option(
    "--from", "source", type=click.Path(exists=True, path_type=Path), help="Show a file that --json wrote; run nothing."
)
def main(
    names: tuple[str, ...],
    nodes: int,
    runs: int,
    json_file: Path | None,
    plot_directory: Path | None,
    kubeconfig: Path | None,
    anchors: Path | None,
    source: Path | None,
) -> None:
    """Run the named benchmarks, or all; peers that are not installed are left out."""
    host, rows = SystemHost(), list[Row]()
    if source is not None:
        rows = [Row(**row) for row in json.loads(source.read_text())]
    if kubeconfig is not None:
        rows = Real(kubeconfig, anchors, runs).rows()
    for name in () if source is not None or kubeconfig is not None else names or SUITES:
        rows += SUITES[name](host, Sizes(nodes, runs))
    Console().print(table(rows))
    if plot_directory is not None:
        for path in plot(rows, plot_directory):
            Console().print(f"drawn: {path}")
    if json_file is not None:
        json_file.write_text(json.dumps([attrs.asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
