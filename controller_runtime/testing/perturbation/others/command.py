# SPDX-License-Identifier: Apache-2.0
"""The command `python -m controller_runtime.testing.perturb`: tries faults against an operator in any language."""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import click

from apimachinery.errors import UsageError
from apimachinery.system import SystemHost
from controller_runtime.testing.perturbation.others.account import account_of
from controller_runtime.testing.perturbation.others.calm import Calm, learn
from controller_runtime.testing.perturbation.others.playing import Player
from controller_runtime.testing.perturbation.others.results import junit, planned, to_mapping, total, write
from controller_runtime.testing.perturbation.others.selecting import read_baseline, selected, shard_of
from controller_runtime.testing.perturbation.others.sequences import sequences
from controller_runtime.testing.perturbation.others.settings import Settings
from controller_runtime.testing.perturbation.others.story import Story
from controller_runtime.testing.perturbation.others.triggers import in_turn
from controller_runtime.testing.perturbation.planning import plan
from controller_runtime.testing.perturbation.plans import PATTERNS, Plan
from controller_runtime.testing.perturbation.sequence_plan import StateSequence

_OTHERS = PATTERNS
_USUAL = tuple(pattern for pattern in _OTHERS if pattern != "sequence")


def _say(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()


@attrs.frozen(kw_only=True)
class Chosen:
    """The command-line options that choose the plans to run and the output; their meaning is in the help of
    `perturb`.
    """

    patterns: Sequence[str]
    budget: float
    replay: Path | None
    lists: bool
    only: Sequence[str]
    shard: tuple[int, int]
    jobs: int
    baseline: Path | None
    update_baseline: bool
    junit: Path | None
    json: Path | None


_PATH = click.Path(path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--story", type=_PATH, required=True, help="The file that says what the user does.")
@click.option(
    "--patterns",
    default=",".join(_USUAL),
    show_default=True,
    help=f"The patterns to try, separated by commas, of {', '.join(_OTHERS)}.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    help="Seconds after which no plan begins; calm runs do not count.",
)
@click.option("--quiet", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds of a rest.")
@click.option(
    "--patience",
    type=click.FloatRange(min=1),
    default=20.0,
    show_default=True,
    help="Seconds to wait for a start, a rest, and the calm run's state.",
)
@click.option("--workloads", is_flag=True, help="Let Deployments, StatefulSets and Jobs have pods that run.")
@click.option("--as", "account", metavar="NAMESPACE/NAME", help="The ServiceAccount whose rights the operator has.")
@click.option("--replay", type=_PATH, help="The file of the only plan to run.")
@click.option("--list", "lists", is_flag=True, help="Show the plans after the calm runs, and run none.")
@click.option("--only", multiple=True, help="Run the plans whose text is or begins with this; may be repeated.")
@click.option("--shard", default="1/1", metavar="K/N", help="Run part K of N, for several machines.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="The number of plans to run at a time."
)
@click.option("--baseline", type=_PATH, help="A file of known findings, which are printed and fail nothing.")
@click.option("--update-baseline", is_flag=True, help="Write the findings of this run to the file of --baseline.")
@click.option("--junit", type=_PATH, help="Write the results to this file, as JUnit.")
@click.option("--json", type=_PATH, help="Write the results to this file, as JSON.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def perturb(
    story: Path, patterns: str, quiet: float, patience: float, workloads: bool, shard: str, command: Sequence[str],
    budget: float, account: str | None, replay: Path | None, lists: bool, only: Sequence[str], jobs: int,
    baseline: Path | None, update_baseline: bool, junit: Path | None, json: Path | None,
) -> None:  # fmt: skip
    """Run COMMAND, an operator in any language, against an embedded API server: first undisturbed (calm runs), and
    then once for each plan, which is one disturbance at one moment.

    It finds the server by KUBECONFIG, or by {kubeconfig} in its arguments. Exit status 1 says that a plan failed, and
    2 that the input is wrong or the operator does not do its work undisturbed.
    """
    from embedded_apiserver import make_certificates

    names = [name for name in map(str.strip, patterns.split(",")) if name]
    if unknown := [name for name in names if name not in _OTHERS]:
        raise click.UsageError(f"--patterns: {unknown[0]!r} is not one of {', '.join(_OTHERS)}")
    if update_baseline and baseline is None:
        raise click.UsageError("--update-baseline needs --baseline FILE")
    logging.disable(logging.WARNING)
    try:
        chosen = Chosen(
            patterns=names, budget=budget, replay=replay, lists=lists, only=only, shard=shard_of(shard), jobs=jobs,
            baseline=baseline, update_baseline=update_baseline, junit=junit, json=json,
        )  # fmt: skip
        settings = Settings(
            command=command, story=Story.read(story), certificates=make_certificates(SystemHost().now()),
            quiet=quiet, patience=patience, workloads=workloads, account=account_of(account),
        )  # fmt: skip
        failed = _run(settings, story.name, chosen)
    except UsageError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    sys.exit(1 if failed else 0)


def _run(settings: Settings, story: str, chosen: Chosen) -> bool:
    only = None if chosen.replay is None else planned(chosen.replay)
    baseline = read_baseline(chosen.baseline)
    host = SystemHost()
    declares = "sequence" in chosen.patterns if only is None else isinstance(only, StateSequence)
    calm = learn(host, settings, _say, declares=declares)
    faults = plan(calm.baseline.run, [each for each in chosen.patterns if each != "sequence"]).plans
    drawn = [each for of in calm.objects.values() for each in sequences(of.primary)]
    plans = [only] if only is not None else in_turn([*faults, *drawn])
    plans = selected(plans, chosen.only, chosen.shard)
    if chosen.lists:
        _list(plans, calm)
        return False
    player = Player(host, calm, baseline, _say)
    left_out = player.play(plans, chosen.budget, chosen.jobs)
    if left_out:
        _say(f"{left_out} of {len(plans)} plans are left out by --budget {chosen.budget:g}")
    _write(player, story, left_out, chosen)
    _say(total(player.results))
    return any(each.status == "failed" for each in player.results)


def _list(plans: Sequence[Plan], calm: Calm) -> None:
    for each in plans:
        _say(f"{each}: {calm.told(each)}")
    _say(f"{len(plans)} plans")


def _write(player: Player, story: str, left_out: int, chosen: Chosen) -> None:
    if chosen.junit is not None:
        write(chosen.junit, "--junit", junit(player.results, story))
    if chosen.json is not None:
        text = json.dumps(to_mapping(player.results, left_out), indent=1, default=str)
        write(chosen.json, "--json", f"{text}\n".encode())
    if chosen.baseline is not None and chosen.update_baseline:
        write(chosen.baseline, "--baseline", f"{json.dumps(player.known, indent=1)}\n".encode())


def main() -> None:
    """Run the command; the operator's processes end with this process, even if it is killed."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    perturb()
