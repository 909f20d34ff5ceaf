# SPDX-License-Identifier: Apache-2.0
"""The result of each plan, as text, as JUnit and as JSON, and the files that are kept of a failed run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import attrs

from apimachinery.errors import UsageError
from controller_runtime.testing.perturbation.options import SCRIPTS
from controller_runtime.testing.perturbation.others.trial import Trial
from controller_runtime.testing.perturbation.others.triggers import Point, fields_of
from controller_runtime.testing.perturbation.plans import Plan, from_json, to_json
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.verdict import Verdict

_SHOWN = 8
_LINES = 8
"""The number of lines of the operator's output that are shown with a failure."""


@attrs.frozen
class Result:
    """The result of one plan, which is one fault at one point of the run.

    Attributes:
        plan: The plan.
        status: `passed`, `failed`, `once` for a failure that two further runs did not have, `known` for one that the
            baseline file has, `void` if the fault did not happen, or `unjudged` if too little can be compared.
        seconds: The duration of its runs.
        what: A text about the fault; for an `unjudged` result how much was compared; for a `void` one why its run
            ended early, if it did; empty for a `passed` one.
        complaints: The wrong effects, the most telling first.
        runs: The number of runs in which the fault happened.
        failures: The number of failed ones.
        file: The file for `--replay`; empty if the plan did not fail.
        log: The last lines that the operator printed in a failed run.
    """

    plan: Plan
    status: str
    seconds: float
    what: str = ""
    complaints: Sequence[str] = ()
    runs: int = 1
    failures: int = 0
    file: str = ""
    log: Sequence[str] = ()

    def __str__(self) -> str:
        took = f"({self.seconds:.1f} s)"
        if self.status == "void":
            return f"{self.plan}: could not happen{f': {self.what}' if self.what else ''} {took}"
        if self.status == "unjudged":
            return f"{self.plan}: not judged: {self.what} {took}"
        if self.status == "passed":
            return f"{self.plan}: passed {took}"
        how = {"known": "failed as before", "once": "not confirmed: failed"}.get(self.status, "FAILED")
        return f"{self.plan}: {how} {self.failures} of {self.runs} {took}"

    @property
    def details(self) -> list[str]:
        """The lines of the report that follow the first line of a failure."""
        plan = self.plan
        lines = [f"{plan.pattern} ({plan.grade}): {self.what}", *(f"  {each}" for each in self.complaints[:_SHOWN])]
        lines += [f"  and {len(self.complaints) - _SHOWN} more"] if len(self.complaints) > _SHOWN else []
        lines += ["the operator printed last:", *(f"  {each}" for each in self.log)] if self.log else []
        return [*lines, f"remedy: {plan.remedy}", f"replay: --replay {self.file}"]


def had_its_fault(run: Run, *, fired: bool, has_begun: bool) -> bool:
    """Return whether what is wrong in a run may be the effect of its fault.

    Args:
        run: The run.
        fired: True if the fault has happened.
        has_begun: True if it has begun; then it may be the cause of a run's early end.
    """
    return fired or (has_begun and bool(run.failures))


def without_complaint(
    plan: Plan, verdict: Verdict, seconds: float, has_happened: bool = True, why: str = ""
) -> Result | None:
    """Return the result of a run of a plan, or None if it had wrong effects, which have to be confirmed.

    Args:
        plan: The plan.
        verdict: The judgement of the run.
        seconds: The duration of the run.
        has_happened: False if the fault has not happened: nothing is said of the plan then.
        why: The reason why it has not, if the run ended early.
    """
    if not has_happened:
        return Result(plan, "void", seconds, why)
    if verdict.complaints:
        return None
    return (
        Result(plan, "passed", seconds)
        if verdict.is_judged
        else Result(plan, "unjudged", seconds, str(verdict.coverage))
    )


def file_of(plan: Plan, ending: str) -> Path:
    """Return the path of the file for one planned run, with the suffix `ending`, in the folder of findings."""
    return Path(SCRIPTS) / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', str(plan)).strip('-')}{ending}"


def written(plan: Plan, trigger: Point | None) -> Path:
    """Write the file that replays a plan with `--replay`, here or with `apiserver --perturb`, and return its path.

    Args:
        plan: The plan.
        trigger: The point of the run at which it happens; None for a plan without one.
    """
    fields = {} if trigger is None else fields_of(trigger)
    path = file_of(plan, ".json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"plan": to_json(plan), **fields}, indent=1) + "\n", encoding="utf-8")
    return path


def keep(plan: Plan, trial: Trial) -> Path:
    """Write the operator's output, writes and objects of a failed run next to the file of its plan; return the plan's
    file.
    """
    path = written(plan, trial.trigger)
    file_of(plan, ".log").write_text(trial.log, encoding="utf-8")
    run, after = trial.run, trial.fired_after
    objects = [
        {"object": str(name), "state": "a secret" if name.resource == "secrets" else one}
        for name, several in (run.rests[-1].state if run.rests else {}).items()
        for one in several
    ]
    kept = {
        "writes before": [str(each) for each in run.sent[:after]],
        "writes after": [str(each) for each in run.sent[after:]],
        "objects": objects,
    }
    file_of(plan, ".run.json").write_text(json.dumps(kept, indent=1, default=str) + "\n", encoding="utf-8")
    return path


def status_of(runs: int, failures: int) -> str:
    """Return the status of a plan that failed in a run: `once` if its fault happened in others and had no wrong effect.

    Args:
        runs: The number of runs in which the fault happened.
        failures: The number of failed ones, at least 1.
    """
    return "once" if failures == 1 < runs else "failed"


def failed(
    plan: Plan, trial: Trial, what: str, complaints: Sequence[str], runs: int, failures: int, seconds: float
) -> Result:
    """Return the result of a plan that failed, which is one fault at one point of a run, and write its files.

    Args:
        plan: The plan.
        trial: The failed run.
        what: A text about the fault.
        complaints: The wrong effects, the most telling first.
        runs: The number of runs in which the fault happened.
        failures: The number of failed ones.
        seconds: The duration of all runs.
    """
    lines = [line[:200] for line in trial.log.splitlines() if not line.startswith("# start ")]
    return Result(
        plan=plan,
        status=status_of(runs, failures),
        seconds=seconds,
        what=what,
        complaints=complaints,
        runs=runs,
        failures=failures,
        file=str(keep(plan, trial)),
        log=lines[-_LINES:],
    )


def planned(path: Path) -> Plan:
    """Return the plan in a file of `written`.

    Raises:
        UsageError: The file cannot be read, or holds no plan.
    """
    try:
        return from_json(json.loads(path.read_text(encoding="utf-8"))["plan"])
    except OSError as error:
        raise UsageError(f"--replay {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--replay {path}: not a file of a plan: {error}") from None


def total(results: Iterable[Result]) -> str:
    """Return the last line of the report, with the number of results of each status."""
    counts = Counter(each.status for each in results)
    flaky = sum(each.status == "failed" and each.failures < each.runs for each in results)
    known = f", {counts['known']} failed as before" if counts["known"] else ""
    not_in_each = f" ({flaky} of them not in each run)" if flaky else ""
    once = f", {counts['once']} failed once and were not confirmed" if counts["once"] else ""
    unjudged = f", {counts['unjudged']} not judged" if counts["unjudged"] else ""
    void = f"{counts['void']} could not happen{unjudged}"
    return f"{counts['failed']} plans failed{not_in_each}{once}{known}, {counts['passed']} passed, {void}"


def to_mapping(results: Iterable[Result], left_out: int) -> dict[str, Any]:
    """Return all results as values that JSON can represent.

    Args:
        results: The results.
        left_out: The number of plans that did not run.
    """
    return {
        "left_out": left_out,
        "plans": [{**attrs.asdict(each, recurse=False), "plan": str(each.plan)} for each in results],
    }


def junit(results: Sequence[Result], story: str) -> bytes:
    """Return all results as a JUnit report in XML, in which each planned run is a test case."""
    counts = Counter(each.status for each in results)
    suite = ElementTree.Element(
        "testsuite",
        name=story,
        tests=str(len(results)),
        failures=str(counts["failed"]),
        skipped=str(sum(counts[each] for each in ("void", "known", "once", "unjudged"))),
        time=f"{sum(each.seconds for each in results):.3f}",
    )
    for each in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=story, name=str(each.plan), time=f"{each.seconds:.3f}"
        )
        if each.status == "failed":
            shown = ElementTree.SubElement(case, "failure", message=_text(each.complaints[0]))
            shown.text = _text("\n".join(each.details))
        elif each.status != "passed":
            reasons = {
                "void": "it could not happen",
                "known": "a known finding",
                "once": f"not confirmed: {next(iter(each.complaints), '')}",
                "unjudged": f"not judged: {each.what}",
            }
            ElementTree.SubElement(case, "skipped", message=_text(reasons[each.status]))
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))


def _text(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)


def write(path: Path, option: str, content: bytes) -> None:
    """Write a file of results.

    Args:
        path: The file.
        option: The command-line option that names the file, for the message.
        content: The content.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}") from None


def as_known(result: Result, trigger: Point | None) -> dict[str, Any]:
    """Return the entry of a failure for a baseline file."""
    at = to_json(result.plan) if trigger is None else fields_of(trigger)
    return {"at": at, "complaints": list(result.complaints)}


def is_known(found: Mapping[str, Any], baseline: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a baseline has a failure at the same point whose complaints include the first complaint of
    `found`.
    """
    return any(each["at"] == found["at"] and found["complaints"][0] in each["complaints"] for each in baseline)
