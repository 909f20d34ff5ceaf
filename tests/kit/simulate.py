# SPDX-License-Identifier: Apache-2.0
"""`python -m kit.simulate`, with `tests` on the path: runs a system with many seeds, or repeats one script."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import click

from controller_runtime.testing.simulation.system_faults import Script, SystemFault
from kit.fault_runs import caches, ring, ring_faults
from kit.fault_runs.drawing import PROFILES, Profile, script_from_json, script_to_json
from kit.fault_runs.outcome import Outcome
from kit.fault_runs.replicas import run
from kit.fault_runs.shrinking import shrunk


class Run(Protocol):
    """Runs a system under faults."""

    def __call__(self, seed: int, *, profile: str = "broad", script: Iterable[SystemFault] | None = None) -> Outcome:
        """See `replicas.run`."""


class System(NamedTuple):
    """A system that the command can run, and its profiles of faults by name."""

    run: Run
    profiles: Mapping[str, Profile]


SYSTEMS = {
    "replicas": System(run, PROFILES),
    "caches": System(caches.run, caches.PROFILES),
    "ring": System(ring.run, ring_faults.PROFILES),
}
"""The systems by name: three replicas that elect a leader, and two caches; each with a server and a user."""


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--seeds", type=click.IntRange(min=1), default=100, show_default=True, help="How many seeds to try.")
@click.option("--first", type=click.IntRange(min=0), default=0, show_default=True, help="The first of them.")
@click.option(
    "--system",
    "name",
    type=click.Choice(list(SYSTEMS)),
    default="replicas",
    show_default=True,
    help="The system to run.",
)
@click.option(
    "--profile",
    "profiles",
    type=click.Choice([*dict.fromkeys(name for system in SYSTEMS.values() for name in system.profiles)]),
    multiple=True,
    help="The kinds of faults; by default all profiles in turn, one for each seed.",
)
@click.option(
    "--script", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Repeat what a failure printed."
)
@click.option("-v", "--verbose", is_flag=True, help="Show the system's own log on standard error.")
def main(seeds: int, first: int, name: str, profiles: tuple[str, ...], script: Path | None, verbose: bool) -> None:
    """Run replicas or caches, a server and a user under faults; exit 1 at the first invariant that does not hold.

    The output of a failure can be saved and given to --script. It is the list of the faults that
    happened, so it stays valid when the code changes, which a seed does not.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.CRITICAL)
    if script is not None:
        name, seed, faults = _read(script)
        _report(name, SYSTEMS[name].run(seed, script=faults))
        return
    system = SYSTEMS[name]
    unknown = [profile for profile in profiles if profile not in system.profiles]
    if unknown:
        raise click.UsageError(f"{name} have no profile {unknown[0]!r}: give some of {', '.join(system.profiles)}")
    in_turn = profiles or tuple(system.profiles)
    for seed in range(first, first + seeds):
        outcome = system.run(seed, profile=in_turn[seed % len(in_turn)])
        if outcome.invariant:
            _report(name, smallest(outcome, system.run))
    click.echo(f"{seeds} seeds: everything held")


def smallest(outcome: Outcome, run: Run = run) -> Outcome:
    """Return the outcome of the smallest script found that violates the same invariant with the same seed."""

    def still_fails(script: Script) -> bool:
        return run(outcome.seed, script=script).invariant == outcome.invariant

    return run(outcome.seed, script=shrunk(outcome.script, still_fails))


def _read(path: Path) -> tuple[str, int, Script]:
    try:
        document = json.loads(path.read_text())
        name = document.get("system", "replicas")
        if name not in SYSTEMS:
            raise ValueError(f"there is no system {name!r}, only {' and '.join(SYSTEMS)}")
        return name, int(document["seed"]), script_from_json(json.dumps(document["faults"]))
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise click.UsageError(f"{path} is not a script of this command: {error}") from error


def _report(name: str, outcome: Outcome) -> None:
    """Print the outcome; exit with status 1 if an invariant does not hold."""
    if not outcome.invariant:
        click.echo(f"seed {outcome.seed}, {len(outcome.script)} faults: everything held")
        return
    click.echo(f"seed {outcome.seed}: {outcome.message}", err=True)
    click.echo("\n".join(_document(name, outcome)))
    sys.exit(1)


def _document(name: str, outcome: Outcome) -> Iterable[str]:
    yield f'{{"system": "{name}", "seed": {outcome.seed}, "invariant": {json.dumps(outcome.invariant)}, "faults": '
    yield f"{script_to_json(outcome.script)}}}"


if __name__ == "__main__":
    main()
