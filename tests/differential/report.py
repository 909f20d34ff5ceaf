# SPDX-License-Identifier: Apache-2.0
"""The findings of a run, as text: rates for each kind, verb and profile, and the distinct differences."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import attrs

from differential.classify import CLASSES, OUTCOMES, Difference
from differential.operations import Operation
from differential.play import Result

_GUARDED = ("nodes", "leases", "leasecandidates", "custom objects")


@attrs.frozen
class Seen:
    """The first occurrence of a signature.

    Attributes:
        profile: The profile of its sequence.
        seed: The seed.
        index: Which operation it was.
        difference: The difference.
        operation: The request.
    """

    profile: str
    seed: int
    index: int
    difference: Difference
    operation: Operation


@attrs.define
class Report:
    """Counts of the operations of a run."""

    total: Counter[str] = attrs.Factory(Counter)
    kinds: dict[str, Counter[str]] = attrs.Factory(lambda: defaultdict(Counter))
    verbs: dict[str, Counter[str]] = attrs.Factory(lambda: defaultdict(Counter))
    profiles: dict[str, Counter[str]] = attrs.Factory(lambda: defaultdict(Counter))
    signatures: dict[tuple[str, str], list[Seen]] = attrs.Factory(dict)

    def add(self, profile: str, seed: int, index: int, result: Result) -> None:
        """Count one operation."""
        operation, number = result.operation, result.number
        for counter in (self.total, self.kinds[operation.kind], self.verbs[operation.verb], self.profiles[profile]):
            counter[number] += 1
            counter["taken"] += not result.real.is_refusal
        if result.is_echo:
            return
        told = set()
        for one in result.found:
            key = one.number, one.signature(operation)
            if key not in told:
                told.add(key)
                self.signatures.setdefault(key, []).append(Seen(profile, seed, index, one, operation))

    def lines(self, most: int) -> Iterator[str]:
        """Yield the report, with so many signatures of each class."""
        yield from self._rates("", {"all": self.total})
        yield from self._rates("profile", self.profiles)
        yield from self._rates("kind", self.kinds)
        yield from self._rates("verb", self.verbs)
        guarded: Counter[str] = Counter()
        for kind in _GUARDED:
            guarded.update(self.kinds[kind])
        yield from self._rates("", {"nodes, leases, candidates, custom objects": guarded})
        for number in CLASSES:
            found = sorted(
                (one for one in self.signatures.items() if one[0][0] == number), key=lambda one: -len(one[1])
            )
            yield f"\n## {number}: {len(found)} distinct, {sum(len(one) for _, one in found)} in all\n"
            for (_, signature), seen in found[:most]:
                first = seen[0]
                yield f"- {len(seen)}x {signature}"
                yield f"    {first.profile} {first.seed} #{first.index}: {str(first.operation)[:400]}"
                one = first.difference
                yield f"    at {one.where}: ours {_text(one.ours)} | real {_text(one.real)}"

    def _rates(self, name: str, table: dict[str, Counter[str]]) -> Iterator[str]:
        yield ""
        yield (
            f"| {name or 'run'} | operations | taken | equal % | echo | outcome | "
            + " | ".join(CLASSES)
            + " |  (per 1,000)"
        )
        yield "| --- " * (len(CLASSES) + 6) + "|"

        def outcome(counter: Counter[str]) -> int:
            return sum(counter[number] for number in OUTCOMES)

        for each, counter in sorted(table.items(), key=lambda one: -outcome(one[1]) / max(1, _count(one[1]))):
            count = _count(counter)
            if count:
                rates = " | ".join(f"{1000 * counter[number] / count:.1f}" for number in CLASSES)
                equal = 100 * counter["equal"] / count
                cells = (each, count, counter["taken"], f"{equal:.1f}", counter["echo"])
                weighed = f"{1000 * outcome(counter) / count:.1f}"
                yield f"| {' | '.join(map(str, cells))} | {weighed} | {rates} |"


def _count(counter: Counter[str]) -> int:
    return sum(value for key, value in counter.items() if key != "taken")


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else json.dumps(value))[:300]
