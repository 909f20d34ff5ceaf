# SPDX-License-Identifier: Apache-2.0
"""A plan as people and programs read it: the differences, what could not be planned, and a summary."""

from __future__ import annotations

import enum
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from controller_runtime.api.differ import merge_patch
from controller_runtime.planning.difference import PlannedAction, PlannedDifference, difference_of
from controller_runtime.planning.overlay import BlindSpot, Work
from controller_runtime.planning.result import PlanResult

NOTHING, FAILED, CHANGES = 0, 1, 3
"""Exit statuses of a plan: no change, an error, and changes or objects that could not be planned."""

_SHOWN = 5  # lines of one kind in the text


class PlanOutput(enum.Enum):
    """The output formats of a plan."""

    DIFF = "diff"
    JSON = "json"


@attrs.frozen
class PlanReport:
    """A plan with its differences, ready to be printed.

    Attributes:
        differences: The differences, sorted by kind, namespace and name.
        only_times: The number of written objects in which nothing, or only times, would differ.
        result: The result of the plan.
    """

    differences: Sequence[PlannedDifference]
    only_times: int
    result: PlanResult

    @property
    def status(self) -> int:
        """The exit status of the command."""
        if self.result.failures:
            return FAILED
        return CHANGES if self.differences or self.result.refused else NOTHING

    def show(self, output: PlanOutput) -> str:
        """Return the planned changes as text, in an output format."""
        return json.dumps(self.document(), indent=2) if output is PlanOutput.JSON else "\n".join(self._lines())

    def document(self) -> dict[str, Any]:
        """Return the planned changes as a JSON-compatible dict."""
        result = self.result
        return {
            "changes": [_document(each) for each in self.differences],
            "notPlanned": [{**_place(work), "why": str(call)} for work, call in result.refused],
            "errors": [{**_place(each.work), "error": each.error} for each in result.failures],
            "later": [{**_place(work), "why": why} for work, why in result.later],
            "notRun": result.not_run,
            "summary": {
                "byControllerAndKind": [
                    {"controller": controller, "kind": kind, **{each.value: counts[each] for each in PlannedAction}}
                    for (controller, kind), counts in self._counts().items()
                ],
                "reconciles": {**result.reconciled},
                "unseen": {spot.value: count for spot, count in self._unseen().items()},
                "onlyTimes": self.only_times,
            },
        }

    def _lines(self) -> Iterator[str]:
        for each in self.differences:
            yield f"# {each.action.value} {_name(each)}, by {', '.join(map(str, each.works)) or 'setup'}"
            for spot, text in each.blind:
                if spot is not BlindSpot.FOLLOW_UPS:
                    yield f"# not seen ({spot.value}): {text}"
            yield each.text()
            yield ""
        result = self.result
        for work, call in result.refused:
            yield f"# not planned: {work}: {call}; --allow-outside {call.target} opens it"
        yield from (f"# failed: {each.work}: {each.error}" for each in result.failures)
        yield from _some([f"# later: {work}: {why}" for work, why in result.later])
        yield from self._table()
        yield from (f"not run: {each}" for each in result.not_run)
        yield self._sum()

    def _table(self) -> Iterator[str]:
        counts = self._counts()
        rows = [("CONTROLLER", "KIND", *(each.name for each in PlannedAction))]
        rows += [
            (controller, kind, *(str(each[one]) for one in PlannedAction))
            for (controller, kind), each in counts.items()
        ]
        if len(rows) == 1:
            return
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            yield "   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()

    def _counts(self) -> dict[tuple[str, str], Counter[PlannedAction]]:
        counts: dict[tuple[str, str], Counter[PlannedAction]] = {}
        for each in self.differences:
            for controller in dict.fromkeys(work.controller for work in each.works):
                counts.setdefault((controller, each.kind), Counter())[each.action] += 1
        return dict(sorted(counts.items()))

    def _unseen(self) -> Counter[BlindSpot]:
        return Counter(spot for each in self.differences for spot in dict.fromkeys(spot for spot, _ in each.blind))

    def _sum(self) -> str:
        result, total = self.result, Counter(each.action for each in self.differences)
        changes = ", ".join(f"{total[each]} to {each.value}" for each in PlannedAction)
        reconciles = sum(result.reconciled.values())
        failed, refused = len(result.failures), len(result.refused)
        noun = "reconcile" if reconciles == 1 else "reconciles"
        text = f"plan: {changes}; {reconciles} {noun}, {failed} failed, {refused} not planned"
        if not reconciles:
            text += "; no controller found an object: is this the right cluster, and do namespaces and selectors fit?"
        if self.only_times:
            text += f"; {self.only_times} written with no difference but times"
        if unseen := self._unseen():
            text += "; not seen: " + ", ".join(f"{spot.value} of {count}" for spot, count in unseen.items())
        return text


def report_of(result: PlanResult) -> PlanReport:
    """Return the report of the changes that a program would make."""
    found = [(planned, difference_of(planned)) for planned in result.planned]
    differences = [_with_watchers(each, result.watchers, planned.target.group, planned.target.plural)
                   for planned, each in found if each is not None]  # fmt: skip
    same = sum(1 for planned, each in found if each is None and planned.live is not None and planned.state is not None)
    differences.sort(key=lambda each: (each.kind, each.api_version, each.namespace, each.name, each.title))
    return PlanReport(differences, same, result)


def _with_watchers(
    difference: PlannedDifference, watchers: Mapping[tuple[str, str], list[str]], group: str, plural: str
) -> PlannedDifference:
    """Add which controllers reconcile the object after its change; a plan does not know what they will write then."""
    names = ", ".join(watchers.get((group, plural), ()))
    if not names or difference.action is PlannedAction.DELETE:
        return difference
    if difference.action is PlannedAction.CREATE:
        spot = (BlindSpot.CHILDREN, f"{names} will reconcile it once it exists")
    else:
        spot = (BlindSpot.FOLLOW_UPS, f"{names} will reconcile it again")
    return attrs.evolve(difference, blind=(*difference.blind, spot))


def _document(each: PlannedDifference) -> dict[str, Any]:
    return {
        "action": each.action.value,
        "apiVersion": each.api_version,
        "kind": each.kind,
        "namespace": each.namespace,
        "name": each.name,
        "by": [_place(work) for work in each.works],
        "before": each.before,
        "after": each.after,
        "patch": merge_patch(each.before, each.after) if each.before is not None and each.after is not None else None,
        "unseen": [{"what": spot.value, "text": text} for spot, text in each.blind],
    }


def _place(work: Work) -> dict[str, Any]:
    request = work.request
    return {
        "controller": work.controller,
        "namespace": request.namespace if request else "",
        "name": request.name if request else "",
    }


def _name(each: PlannedDifference) -> str:
    return f"{each.api_version} {each.kind} {f'{each.namespace}/' if each.namespace else ''}{each.name}"


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"# later: and {len(lines) - _SHOWN} more"
