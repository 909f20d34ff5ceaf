# SPDX-License-Identifier: Apache-2.0
"""The results of perturbed tests, each and in total, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs


@attrs.define
class Summary:
    """The results of one test and its plans, which are one fault at one point each.

    Attributes:
        nodeid: The nodeid of the test.
        refusal: The reason why the test was not perturbed; empty if it was.
        possible: The number of possible plans.
        pruned: The number of plans left out because others show the same.
        run: The number of plans that were run.
        void: The number of these whose fault could not happen, at least not completely.
        unjudged: The number of these that were not judged because too little could be compared.
        failed: The number of these that failed.
        left: The number of plans that were left out by the budget.
        seconds: Real seconds for all runs.
        not_compared: One line about the values that were not compared; empty if all were.
        listed: The texts of the plans, if they are shown and not run.
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
    listed: Sequence[str] = ()

    @property
    def matters(self) -> bool:
        """True if the test should be shown: something failed, or was not tried or compared."""
        return bool(self.refusal or self.failed or self.left or self.unjudged or self.not_compared or self.listed)

    def __str__(self) -> str:
        if self.refusal:
            return f"{self.nodeid}: not perturbed: {self.refusal}"
        if self.listed:
            return "\n  ".join([f"{self.nodeid}: {_counts(self)}", *self.listed])
        text = f"{self.nodeid}: {_result(self)} ({_counts(self)})"
        return f"{text}\n  {self.not_compared}" if self.not_compared else text


def total(summaries: Sequence[Summary]) -> str:
    """Return the line with the totals of all tests."""
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
    """Return summaries as plain values that a pytest-xdist worker can send."""
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
