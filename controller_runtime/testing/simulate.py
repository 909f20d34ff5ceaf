# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime.testing.simulate`: the whole system through many seeds, or one script again."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from controller_runtime.testing.simulation.faults import PROFILES, Script, script_from_json, script_to_json
from controller_runtime.testing.simulation.shrinking import shrunk
from controller_runtime.testing.system.run import Outcome, run


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--seeds", type=click.IntRange(min=1), default=100, show_default=True, help="How many seeds to try.")
@click.option("--first", type=click.IntRange(min=0), default=0, show_default=True, help="The first of them.")
@click.option(
    "--profile",
    "profiles",
    type=click.Choice(list(PROFILES)),
    multiple=True,
    help="The weather; by default each seed has the next of all.",
)
@click.option(
    "--script", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Run what a failure printed again."
)
@click.option("-v", "--verbose", is_flag=True, help="Show the system's own log, on standard error.")
def main(seeds: int, first: int, profiles: tuple[str, ...], script: Path | None, verbose: bool) -> None:
    """Run three replicas, a server and a user through bad weather; exits 1 at the first thing that does not hold.

    What is printed then can be saved and given to --script: it says what happened, so it
    outlives changes of the code, which a seed does not.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.CRITICAL)
    if script is not None:
        seed, faults = _read(script)
        _tell_and_exit(run(seed, script=faults))
        return
    walk = profiles or tuple(PROFILES)
    for seed in range(first, first + seeds):
        outcome = run(seed, profile=walk[seed % len(walk)])
        if outcome.invariant:
            _tell_and_exit(smallest(outcome))
    click.echo(f"{seeds} seeds: everything held")


def smallest(outcome: Outcome) -> Outcome:
    """The outcome of the smallest script found that violates the same invariant under the same seed."""

    def still_fails(script: Script) -> bool:
        return run(outcome.seed, script=script).invariant == outcome.invariant

    return run(outcome.seed, script=shrunk(outcome.script, still_fails))


def _read(path: Path) -> tuple[int, Script]:
    try:
        document = json.loads(path.read_text())
        return int(document["seed"]), script_from_json(json.dumps(document["faults"]))
    except (ValueError, KeyError, TypeError) as error:
        raise click.UsageError(f"{path} is no script of this command: {error}") from error


def _tell_and_exit(outcome: Outcome) -> None:
    if not outcome.invariant:
        click.echo(f"seed {outcome.seed}, {len(outcome.script)} faults: everything held")
        return
    click.echo(f"seed {outcome.seed}: {outcome.message}", err=True)
    click.echo("\n".join(_document(outcome)))
    sys.exit(1)


def _document(outcome: Outcome) -> Iterable[str]:
    yield f'{{"seed": {outcome.seed}, "invariant": {json.dumps(outcome.invariant)}, "faults": '
    yield f"{script_to_json(outcome.script)}}}"


if __name__ == "__main__":
    main()
