# SPDX-License-Identifier: Apache-2.0
"""The text of a replay: the reads, writes, log lines and errors of the present code beside the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

import msgspec

from apimachinery.texts import bounded, indented, printable
from controller_runtime.incidents.incident import Ask, End, Get, Incident, Kind, Line, Select, Sent, Step
from controller_runtime.testing.replay.comparing import Replayed, Verdict

_LONGEST = 400  # characters of one body
_WORDS = {Verdict.SAME: "same", Verdict.DIFFERS: "differs", Verdict.UNDECIDED: "undecided"}


def told(replayed: Replayed) -> str:
    """Return the text of a replay. A line is marked `=` if it is as recorded, `-` if only recorded, and `+` if new."""
    return "\n".join(_lines(replayed))


def _lines(replayed: Replayed) -> Iterator[str]:
    incident = replayed.incident
    yield printable(f"{incident.controller} {incident.request}, recorded at {incident.started}")
    yield from _part("reads", [*_reads(incident)], [*map(printable, replayed.reads)])
    recorded = [_sent(each.method, each.path, each.query, bytes(each.body)) for each in incident.writes]
    now = [_sent(one.method, one.path, one.query, one.body) for one in (each.request for each in replayed.writes)]
    yield from _part("writes", recorded, now)
    yield from _part("log", [*map(_line, incident.lines)], [*map(_line, replayed.lines)])
    yield from _part("end", [_end(incident.end)], [_end(replayed.end)])
    if replayed.end.error is not None and replayed.end.error.stack:
        yield indented(bounded(f"stack:\n{replayed.end.error.stack.rstrip()}"))
    for title, items in (
        ("not recorded", replayed.unknown),
        ("real clocks", replayed.clocks),
        ("taken elsewhere", replayed.taken),
        ("cut", incident.cut),
    ):
        if items:
            yield f"{title}:"
            yield from (f"  {printable(bounded(each, _LONGEST))}" for each in items)
    yield f"verdict: {_WORDS[replayed.verdict]}{_why(replayed)}"


def _why(replayed: Replayed) -> str:
    if replayed.verdict is not Verdict.UNDECIDED:
        return ""
    if replayed.incident.end.outcome == "cancelled":
        return ", because the process stopped while it was recorded"
    if replayed.incident.is_cut:
        return ", because parts of the record are cut"
    if replayed.unknown:
        return ", because of what was not recorded"
    if replayed.clocks:
        return ", because its code asks a real clock: take `manager.host` as a Clock"
    return ", because its code takes values that are not recorded: take those of `manager.host`"


def why_undecided(replayed: Replayed) -> str:
    """Return one line with the reason why a replay is undecided; empty if there is no reason."""
    if replayed.incident.end.outcome == "cancelled":
        return "the process stopped while it was recorded"
    cut = ["parts of the record are cut"] if replayed.incident.is_cut else []
    return next(iter((*cut, *replayed.unknown, *replayed.clocks, *replayed.taken)), "")


def _part(title: str, recorded: list[str], now: list[str]) -> Iterator[str]:
    if not recorded and not now:
        return
    yield f"{title}:"
    for _, first, first_end, second, second_end in SequenceMatcher(None, recorded, now, autojunk=False).get_opcodes():
        if recorded[first:first_end] == now[second:second_end]:
            yield from (f"  = {each}" for each in recorded[first:first_end])
            continue
        yield from (f"  - {each}" for each in recorded[first:first_end])
        yield from (f"  + {each}" for each in now[second:second_end])


def _reads(incident: Incident) -> Iterator[str]:
    for step in incident.steps:
        if (text := _read(step)) is not None:
            yield printable(text)


def _read(step: Step) -> str | None:
    if isinstance(step, Get):
        version = f"at {step.version}" if step.version else "absent"
        return f"get {_resource(step.kind)} {f'{step.namespace}/' if step.namespace else ''}{step.name}: {version}"
    if isinstance(step, Select):
        return f"{f'{step.verb} {_resource(step.kind)} {step.what}'.rstrip()}: {len(step.found)} objects"
    if isinstance(step, Ask):
        return f"{step.what} of {_resource(step.kind)}: {step.answer}"
    if isinstance(step, Sent) and step.method == "GET":
        return f"GET {step.path}: {step.status}"
    return None


def _resource(kind: Kind) -> str:
    group = kind.api_version.rpartition("/")[0]
    return f"{kind.plural}{f'.{group}' if group else ''}{' (metadata)' if kind.partial else ''}"


def _sent(method: str, path: str, query: Sequence[tuple[str, str]], body: bytes) -> str:
    asked = "?" + "&".join(f"{name}={value}" for name, value in query) if query else ""
    shown = "" if body in (b"", b"null") else f" {bounded(_compact(body), _LONGEST)}"
    return printable(f"{method} {path}{asked}{shown}")


def _compact(body: bytes) -> str:
    try:
        return msgspec.json.format(body, indent=-1).decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body.decode(errors="replace")


def _line(line: Line) -> str:
    return printable(bounded(f"{line.level} {line.logger}: {line.text}", _LONGEST))


def _end(end: End) -> str:
    after = "" if end.requeue_after is None else f" in {end.requeue_after:g} s"
    error = "" if end.error is None else f": {end.error.type}: {end.error.text}"
    return printable(bounded(f"{end.outcome.replace('_', ' ')}{after}{error}"))
