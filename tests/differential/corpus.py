# SPDX-License-Identifier: Apache-2.0
"""The corpus: minimal requests that once showed a difference, each with the answer of a real server.

`tests/differential/data/corpus.jsonl` has a case on each line: a name, what has to be there before, and the request.
`answers.jsonl` beside it has the real answers, written by `--record`, and `known.json` the cases that still differ,
each with the reason why. For an older release, `answers-1.N.jsonl` has how its answers differ from those, and
`known-1.N.json` its own known differences.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
from kit.releases.differences import difference

from differential.classify import CLASSES, Difference, differences
from differential.normal import Normal
from differential.operations import Operation
from differential.play import Play, Side
from differential.servers import Embedded, Real
from embedded_apiserver.kinds.recorded import adapted

DATA = Path(__file__).resolve().parent / "data"
CORPUS, ANSWERS, KNOWN = DATA / "corpus.jsonl", DATA / "answers.jsonl", DATA / "known.json"


@attrs.frozen
class Case:
    """A minimal request.

    Attributes:
        name: The behaviour that it shows.
        before: The requests that make what has to be there.
        request: The request.
    """

    name: str
    before: tuple[Operation, ...]
    request: Operation


def load(path: Path = CORPUS) -> list[Case]:
    """Return the cases of a file; of the corpus for `-`."""
    text = (CORPUS if str(path) == "-" else path).read_text(encoding="utf-8")
    return [_case(json.loads(line)) for line in text.splitlines() if line.strip()]


def _case(found: dict[str, Any]) -> Case:
    before = tuple(Operation.from_json(one) for one in found.get("before", ()))
    return Case(found.get("name", "a request"), before, Operation.from_json(found["request"]))


def answers(release: str = "") -> dict[str, Normal]:
    """Return the recorded answers of the real server of a release, the newest by default, by name."""
    older = _read(_of(ANSWERS, release)) if release else {}
    found = {name: adapted(answer, older.get(name, {})) for name, answer in _read(ANSWERS).items()}
    return {name: Normal(one["status"], one["headers"], one["body"]) for name, one in found.items()}


def _read(path: Path) -> dict[str, Any]:
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {one.pop("name"): one for one in lines}


def _of(path: Path, release: str) -> Path:
    """Return the file of a release."""
    return path.with_stem(f"{path.stem}-{release}") if release else path


def recorded_releases() -> list[str]:
    """Return the older releases whose answers were recorded."""
    return sorted(path.stem.partition("-")[2] for path in DATA.glob("answers-*.jsonl"))


@attrs.frozen
class Known:
    """A difference that is known.

    Attributes:
        number: Its class.
        reason: Why there is one.
    """

    number: str
    reason: str


def known(release: str = "") -> dict[str, Known]:
    """Return the known differences from a release, by the name of the case."""
    found = json.loads(_of(KNOWN, release).read_text(encoding="utf-8"))
    return {name: Known(one["class"], one["reason"]) for name, one in found.items()}


def heaviest(found: Iterable[Difference]) -> str:
    """Return the class of the heaviest difference; an empty text if there is none."""
    return min((one.number for one in found), key=CLASSES.index, default="")


def replayed(case: Case, embedded: Embedded, expected: Normal, namespace: str) -> list[Difference]:
    """Return how the embedded server's answer to a case differs from the recorded one."""
    return differences(case.request, _asked(case, Side(embedded, namespace)), expected)


def _asked(case: Case, side: Side) -> Normal:
    side.begin()
    for operation in case.before:
        side.do(operation)
    return side.do(case.request)


def record(real: Real, prefix: str, release: str = "") -> int:
    """Write the real server's answers to the corpus; for an older release, how they differ from the newest one's."""
    newest, lines = _read(ANSWERS), []
    for number, case in enumerate(load()):
        *_, result = Play(None, real, f"{prefix}-r{number}").run([*case.before, case.request])
        answer = result.real.to_json()
        if release:
            answer = difference(newest[case.name], answer)
        if answer:
            lines.append(json.dumps({"name": case.name, **answer}, ensure_ascii=False))
    file = _of(ANSWERS, release)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} answers written to {file}")
    return 0


def compare(cases: Sequence[Case], embedded: Embedded, real: Real, prefix: str, release: str = "") -> int:
    """Send each case to both servers and print the differences; return 1 if one is not known."""
    reasons, unknown = known(release), 0
    for number, case in enumerate(cases):
        *_, result = Play(embedded, real, f"{prefix}-q{number}").run([*case.before, case.request])
        is_known = case.name in reasons
        unknown += bool(result.found) and not is_known
        if result.found or is_known:
            print(f"{result.number}{' (known)' if is_known else ''} {case.name}: {str(case.request)[:300]}")
            print("\n".join(_told(result.found)))
    print(f"{len(cases)} cases, {unknown} differ and are not known to")
    return 1 if unknown else 0


def _told(found: Iterable[Difference]) -> list[str]:
    return [f"    {one.number} {one.where}: ours {str(one.ours)[:300]} | real {str(one.real)[:300]}" for one in found]
