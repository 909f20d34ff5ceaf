# SPDX-License-Identifier: Apache-2.0
"""The results of perturbed tests, each and together, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs


@attrs.define
class Summary:
    """The results of one test.

    Attributes:
        nodeid: The test.
        refusal: Why it was not perturbed; empty if it was.
        possible: How many plans there are.
        pruned: How many were left out, because others show the same.
        run: How many were run.
        void: How many of them could not be carried out to the end.
        unjudged: How many showed nothing, because too little could be compared.
        failed: How many failed.
        left: How many the budget left out.
        seconds: Real seconds for all of its runs.
        not_compared: The values that were not compared, in one line; empty if all were.
    """

    nodeid: str
    refusal: str = ""
    possible: int = 0
    pruned: int = 0
    run: int = 0
    void: int = 0
    unjudged: int = 0
    failed: int = 0
    left: int = 0
    seconds: float = 0.0
    not_compared: str = ""

    @property
    def matters(self) -> bool:
        """True if the reader has to know of this test: something failed, or was not tried."""
        return bool(self.refusal or self.failed or self.left or self.unjudged or self.not_compared)

    def __str__(self) -> str:
        if self.refusal:
            return f"{self.nodeid}: not perturbed: {self.refusal}"
        text = f"{self.nodeid}: {_result(self)} ({_counts(self)})"
        return f"{text}\n  {self.not_compared}" if self.not_compared else text


def total(summaries: Sequence[Summary]) -> str:
    """Return the line for all tests together."""
    perturbed = [each for each in summaries if not each.refusal]
    whole = Summary("")
    for each in perturbed:
        for field in ("possible", "pruned", "run", "void", "unjudged", "failed", "left", "seconds"):
            setattr(whole, field, getattr(whole, field) + getattr(each, field))
    tests = "1 test" if len(perturbed) == 1 else f"{len(perturbed)} tests"
    refused = len(summaries) - len(perturbed)
    text = f"{tests} perturbed, {whole.failed} of {whole.run} plans failed ({_counts(whole)})"
    return f"{text}, {refused} not perturbed" if refused else text


def to_lists(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """Return summaries as values that a worker of pytest-xdist can send."""
    return [attrs.asdict(each) for each in summaries]


def _result(summary: Summary) -> str:
    if summary.failed:
        return f"{summary.failed} of {summary.run} plans failed"
    return "not judged" if summary.unjudged and summary.unjudged + summary.void == summary.run else "passed"


def _counts(summary: Summary) -> str:
    parts = [f"{summary.possible} possible", f"{summary.run} run", f"{summary.pruned} pruned"]
    if summary.void:
        parts.append(f"{summary.void} could not happen")
    if summary.unjudged:
        parts.append(f"{summary.unjudged} not judged")
    if summary.left:
        parts.append(f"{summary.left} left out by --perturb-budget")
    return f"{', '.join(parts)}; {summary.seconds:.1f} s"
