# SPDX-License-Identifier: Apache-2.0
"""The command `python -m controller_runtime.testing.perturb`: an operator in any language through its plans."""

from __future__ import annotations

import json
import logging
import re
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import attrs
import click

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.system import SystemHost
from controller_runtime.testing.perturbation.explaining import happened
from controller_runtime.testing.perturbation.judging import Baseline, judge, learn
from controller_runtime.testing.perturbation.options import SCRIPTS
from controller_runtime.testing.perturbation.others.story import Story
from controller_runtime.testing.perturbation.others.trial import Settings, Trial
from controller_runtime.testing.perturbation.others.triggers import in_turn
from controller_runtime.testing.perturbation.plans import PATTERNS, Plan, from_json, plan, to_json
from controller_runtime.testing.perturbation.record import MANAGER
from embedded_apiserver.perturbation import Trigger, to_fields

_OTHERS = tuple(pattern for pattern in PATTERNS if pattern != "sequence")
_SHOWN = 8


@attrs.define
class Tally:
    """The numbers of plans by their results."""

    passed: int = 0
    failed: int = 0
    void: int = 0
    unjudged: int = 0


def _say(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()


def calm_runs(host: Host, settings: Settings) -> Baseline:
    """Make two calm runs, and return what they show.

    Raises:
        UsageError: The operator ends by itself, or does nothing.
    """
    began = host.monotonic()
    calm = Trial(host, settings).make()
    took = host.monotonic() - began
    changes = sum(each.writer == MANAGER for each in calm.landed)
    if calm.broken:
        raise UsageError(f"{calm.broken[0]}; it printed:\n{_last_lines(settings.folder / 'operator.log')}")
    if not changes:
        raise UsageError(
            "the operator changed nothing in a calm run: does it use the kubeconfig in KUBECONFIG, or in place of "
            f"{{kubeconfig}} in its arguments? It printed:\n{_last_lines(settings.folder / 'operator.log')}"
        )
    again = Trial(host, settings).make()
    if again.broken:
        log = _last_lines(settings.folder / "operator.log")
        raise UsageError(f"in a second calm run {again.broken[0]}; it printed:\n{log}")
    _say(f"calm: {changes} changes by {len(calm.sent)} writes of the operator, {took:.1f} s; a second run was made")
    baseline = learn([calm, again])
    if baseline.not_compared:
        _say(baseline.not_compared)
    return baseline


def _last_lines(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"  {line}" for line in lines[-10:]) or "  nothing"


def attempt(host: Host, settings: Settings, calm: Baseline, chosen: Plan, tally: Tally) -> None:
    """Make the run of one plan, judge it, and tell the outcome."""
    began = host.monotonic()
    trial = Trial(host, settings, calm, chosen)
    run = trial.make()
    took = host.monotonic() - began
    verdict = judge(calm, run)
    found = verdict.complaints
    if not trial.fired:
        tally.void += 1
        _say(f"{chosen}: could not happen ({took:.1f} s)")
    elif not verdict.is_judged:
        tally.unjudged += 1
        _say(f"{chosen}: not judged: {verdict.coverage} ({took:.1f} s)")
    elif not found:
        tally.passed += 1
        _say(f"{chosen}: passed ({took:.1f} s)")
    else:
        tally.failed += 1
        _say(f"{chosen}: FAILED ({took:.1f} s)")
        _say(f"  {chosen.pattern} ({chosen.grade}): {happened(chosen, calm.run)}")
        for each in found[:_SHOWN]:
            _say(f"    {each}")
        _say(f"  remedy: {chosen.remedy}")
        _say(f"  replay: --replay {written(chosen, trial.trigger)}")


def written(chosen: Plan, trigger: Trigger | None) -> Path:
    """Write the file by which a plan can be run again, here or by `apiserver --perturb`, and return its path."""
    Path(SCRIPTS).mkdir(exist_ok=True)
    path = Path(SCRIPTS) / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', str(chosen)).strip('-')}.json"
    assert trigger is not None, "a plan that cannot be told does not happen, and so does not fail"
    path.write_text(json.dumps({"plan": to_json(chosen), **to_fields(trigger)}, indent=1) + "\n", encoding="utf-8")
    return path


def planned(path: Path) -> Plan:
    """Return the plan in a file that `written` has made.

    Raises:
        UsageError: It has none, or cannot be read.
    """
    try:
        return from_json(json.loads(path.read_text(encoding="utf-8"))["plan"])
    except OSError as error:
        raise UsageError(f"--replay {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--replay {path}: not a file of a plan: {error}") from None


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--story", type=click.Path(path_type=Path), required=True, help="The file that says what the user does.")
@click.option(
    "--patterns", default=",".join(_OTHERS), show_default=True, help="The patterns to try, separated by commas."
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    help="Seconds after which no plan begins.",
)
@click.option("--quiet", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds of a rest.")
@click.option(
    "--patience", type=click.FloatRange(min=1), default=20.0, show_default=True, help="Seconds to wait for a rest."
)
@click.option("--workloads", is_flag=True, help="Let Deployments, StatefulSets and Jobs have pods that run.")
@click.option("--replay", type=click.Path(path_type=Path), help="The file of the only plan to run.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def perturb(
    story: Path,
    patterns: str,
    budget: float,
    quiet: float,
    patience: float,
    workloads: bool,
    replay: Path | None,
    command: Sequence[str],
) -> None:
    """Run COMMAND, an operator in any language, against an embedded API server, once calm and once for each plan.

    It finds the server by KUBECONFIG, or by {kubeconfig} in its arguments. Exit status 1 says that a plan failed.
    """
    chosen = [name for name in map(str.strip, patterns.split(",")) if name]
    if unknown := [name for name in chosen if name not in _OTHERS]:
        raise click.UsageError(f"--patterns: {unknown[0]!r} is none of {', '.join(_OTHERS)}")
    logging.disable(logging.WARNING)
    try:
        failed = _run(Story.read(story), command, chosen, budget, quiet, patience, workloads, replay)
    except UsageError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    sys.exit(1 if failed else 0)


def _run(
    story: Story,
    command: Sequence[str],
    patterns: Sequence[str],
    budget: float,
    quiet: float,
    patience: float,
    workloads: bool,
    replay: Path | None,
) -> int:
    from embedded_apiserver import make_certificates

    only = None if replay is None else planned(replay)
    host, tally = SystemHost(), Tally()
    with tempfile.TemporaryDirectory(prefix="perturb-") as folder:
        settings = Settings(
            command=command,
            story=story,
            folder=Path(folder),
            certificates=make_certificates(host.now()),
            quiet=quiet,
            patience=patience,
            workloads=workloads,
        )
        calm = calm_runs(host, settings)
        plans = [only] if only is not None else in_turn(plan(calm.run, patterns).plans)
        deadline = host.monotonic() + budget
        for number, each in enumerate(plans):
            if host.monotonic() > deadline:
                _say(f"{len(plans) - number} plans are left out by --budget {budget:g}")
                break
            attempt(host, settings, calm, each, tally)
    unjudged = f", {tally.unjudged} not judged" if tally.unjudged else ""
    _say(f"{tally.failed} plans failed, {tally.passed} passed, {tally.void} could not happen{unjudged}")
    return tally.failed


def main() -> None:
    """Run the command; the operator ends with it, also by SIGTERM."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    perturb()
