# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks [NAME…] [--nodes N] [--runs N] [--json FILE] [--plot DIR] [--documents]`: runs, and reports."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import attrs
import click
from rich.console import Console
from rich.table import Table

from apimachinery.system import SystemHost
from benchmarks.figures import About, Measured
from benchmarks.harness import Row
from benchmarks.plot import plot
from benchmarks.provenance import about
from benchmarks.real_suite import Real
from benchmarks.suites import LONG, SUITES, Sizes
from benchmarks.tables import rewritten

ALL = "all"
"""The name of all benchmarks but the long ones, also with `--kubeconfig`."""
DOCUMENTS = tuple(Path(__file__).parent.parent / name for name in ("README.md", "benchmarks/README.md"))


@attrs.frozen
class Run:
    """The figures of one run, and how they were obtained."""

    about: About
    rows: list[Row]


def read(file: Path) -> Run:
    """Return the run that `--json` wrote."""
    content = json.loads(file.read_text())
    return Run(About(**content["about"]), [Row(**row) for row in content["rows"]])


def table(run: Run) -> Table:
    """Return the table to print."""
    shown = Table(title=f"{run.about.machine}, Python {run.about.python}, {run.about.commit}", title_justify="left")
    shown.add_column("work")
    shown.add_column("who")
    shown.add_column("figures")
    shown.add_column("note")
    for row in run.rows:
        shown.add_row(row.work, row.who, "\n".join(f"{k} {v:.4g}" for k, v in row.figures.items()), row.note)
    return shown


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice([*SUITES, ALL]))
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
    help="Measure sync, renewals and an idle manager on this server; without names, nothing else.",
)
@click.option(
    "--anchors",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="With --kubeconfig: the programs built from benchmarks/peers/go, and kube-controller-manager.",
)
@click.option(
    "--disposable",
    is_flag=True,
    help="With --kubeconfig: the server is there to be measured. Missing nodes are created, and TTL is measured, which "
    "changes each node.",
)
@click.option(
    "--from", "source", type=click.Path(exists=True, path_type=Path), help="Show a file that --json wrote; run nothing."
)
@click.option("--documents", is_flag=True, help="Update the tables of the documents.")
def main(
    names: tuple[str, ...],
    nodes: int,
    runs: int,
    json_file: Path | None,
    plot_directory: Path | None,
    kubeconfig: Path | None,
    anchors: Path | None,
    disposable: bool,
    source: Path | None,
    documents: bool,
) -> None:
    """Run the named benchmarks, or all; peers that are not installed are left out."""
    if source is not None:
        run = read(source)
    else:
        for run in measured(names, Sizes(nodes, runs), kubeconfig, anchors, is_disposable=disposable):
            if json_file is not None:  # after each benchmark, so that an interrupted run leaves its figures
                json_file.write_text(json.dumps(attrs.asdict(run), indent=2) + "\n")
    Console().print(table(run))
    if plot_directory is not None:
        for path in plot(run.rows, plot_directory):
            Console().print(f"drawn: {path}")
    for document in DOCUMENTS if documents else ():
        document.write_text(rewritten(document.read_text("utf-8"), Measured(run.about, run.rows)), "utf-8")


def measured(
    names: tuple[str, ...], sizes: Sizes, kubeconfig: Path | None, anchors: Path | None, *, is_disposable: bool
) -> Iterator[Run]:
    """Run those of a server of your own, and then the named benchmarks; yield all figures so far after each of them."""
    # Installed programs have their bytecode compiled, so the peers are to keep theirs.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    host, rows, load = SystemHost(), list[Row](), os.getloadavg()[0]
    if kubeconfig is not None:
        rows += Real(host, kubeconfig, anchors, sizes.runs, sizes.nodes if is_disposable else None).rows()
    yield Run(about(host, load, kubeconfig, sizes.runs), rows)
    every = [name for name in SUITES if name not in LONG or name in names]
    for name in every if ALL in names or (not names and kubeconfig is None) else names:
        Console(stderr=True).print(f"measuring {name}")
        rows += SUITES[name](host, sizes)
        yield Run(about(host, load, kubeconfig, sizes.runs), rows)


if __name__ == "__main__":
    main()
