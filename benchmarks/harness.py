# SPDX-License-Identifier: Apache-2.0
"""Runs each peer as a process of its own, and collects the figures that it prints."""

from __future__ import annotations

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

from apimachinery.errors import ControllerRuntimeError

Figures = Mapping[str, float]


@attrs.frozen
class Row:
    """The figures of one peer at one piece of work.

    Attributes:
        work: The work, such as `sync of 10000 nodes`.
        who: The peer.
        figures: Numbers by name; the name ends with the unit.
        note: The budgets and whether they were met, or why there is no figure.
    """

    work: str
    who: str
    figures: Figures
    note: str = ""


class PeerFailed(ControllerRuntimeError):
    """A peer ended with an error or printed no figures; the message has the last line of its standard error."""


def run_peer(
    module: str,
    *arguments: str,
    timeout: float = 300.0,
    cpu_limit: int | None = None,
    once_ready: Callable[[], object] | None = None,
) -> dict[str, float]:
    """Run `python -m module arguments` and return what it printed as JSON on its last line.

    Args:
        module: The peer's module.
        arguments: Its arguments.
        timeout: Seconds for which it may run after it is ready.
        cpu_limit: Seconds of CPU that it may use (Linux).
        once_ready: Called when the peer has printed its first line, by which it says that it is ready.

    Raises:
        PeerFailed: It is not installed, failed, or took too long.
    """
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if cpu_limit is not None:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu_limit, cpu_limit + 1))
        try:
            if once_ready is not None and process.stdout.readline():
                once_ready()
            out, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise PeerFailed(f"{module} took longer than {timeout:.0f} s") from error
        finally:
            process.kill()
    if process.returncode == -signal.SIGXCPU:
        raise PeerFailed(f"{module} needed more than {cpu_limit} s of CPU")
    lines = out.strip().splitlines()
    if process.returncode != 0 or not lines:
        words = (errors.strip().splitlines() or ["it wrote no error"])[-1]
        raise PeerFailed(f"{module} failed: {words}")
    figures: dict[str, float] = json.loads(lines[-1])
    return figures


def median_of(runs: Sequence[Figures]) -> dict[str, float]:
    """Return the median of each figure over several runs."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def repeated(count: int, run: Callable[[], Figures]) -> dict[str, float]:
    """Return the medians of `count` runs."""
    return median_of([run() for _ in range(count)])


def budgeted(work: str, who: str, measure: Callable[[], Figures], budgets: Mapping[str, str]) -> Row:
    """Return a row whose note says for each budget whether it was met.

    Args:
        work: The work.
        who: The peer.
        measure: Returns the figures.
        budgets: Limits such as `<= 4`, by the figure's name.
    """
    try:
        figures = measure()
    except PeerFailed as error:
        return Row(work, who, {}, f"not measured: {error}")
    return Row(work, who, figures, "; ".join(_verdict(figures, *budget) for budget in budgets.items()))


def _verdict(figures: Figures, name: str, budget: str) -> str:
    relation, _, limit = budget.partition(" ")
    kept = figures[name] <= float(limit) if relation == "<=" else figures[name] >= float(limit)
    return f"{name}: budget {budget}, {'kept' if kept else 'MISSED'}"


@contextmanager
def metered(figures: dict[str, float]) -> Iterator[None]:
    """Add the wall and CPU seconds of the block to `figures`, and the process's peak memory so far, in MiB."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    figures["wall_s"] = time.perf_counter() - wall
    figures["cpu_s"] = time.process_time() - cpu
    figures["peak_mib"] = _peak_mib()


def _peak_mib() -> float:
    """Return this program's peak memory (Linux). `getrusage` would include that of the parent, before the exec."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


def cpu_seconds_of(pid: int) -> float:
    """Return the user and system CPU seconds that a running process has used so far (Linux)."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib_of(pid: int | str) -> float:
    """Return the peak memory so far of a running process, or of this one by `self`, in MiB (Linux)."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def report(figures: Figures) -> None:
    """Print a peer's figures, for `run_peer`."""
    print(json.dumps(figures), flush=True)  # noqa: T201


def ratio(rows: Sequence[Row], figure: str, who: str, against: str) -> float | None:
    """Return a figure of `who` divided by that of `against`; None unless both were measured."""
    found = {row.who: row.figures.get(figure) for row in rows}
    a, b = found.get(who), found.get(against)
    return a / b if a is not None and b else None
