# SPDX-License-Identifier: Apache-2.0
"""The differences between a record and the present code, as lines that people can read, and allow in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from apimachinery.http import HTTPRequest
from apimachinery.texts import bounded, printable
from controller_runtime.controller.written_fields import leaves_of
from controller_runtime.core.resource_paths import resource_path
from controller_runtime.incidents.incident import End, Sent
from controller_runtime.testing.replay.attempt import Written
from controller_runtime.testing.replay.comparing import Replayed, is_same_end

_LONGEST = 200  # characters of one line
_ABSENT = object()  # a field that is not there, beside one that is null


def changes_of(replayed: Replayed) -> tuple[str, ...]:
    """Return the differences of a replay, each once, in order; empty if it does not differ.

    A write is compared with the recorded one of the same method and path, and each field that differs is a line, such
    as `PATCH configmaps: .metadata.annotations.size`. No line names an object, so records with the same differences
    have equal lines.
    """
    found = [*_of_writes(replayed.unsent, replayed.writes)]
    if not is_same_end(replayed.incident.end, replayed.end):
        found.append(f"ends: {_end(replayed.incident.end)} -> {_end(replayed.end)}")
    if not found and replayed.differs:
        found.append("order of the requests")
    return tuple(dict.fromkeys(printable(bounded(each, _LONGEST)) for each in found))


def _of_writes(unsent: Sequence[Sent], writes: Iterable[Written]) -> Iterator[str]:
    left = [*unsent]
    for request in (each.request for each in writes if not each.is_recorded):
        known = next((each for each in left if (each.method, each.path) == (request.method, request.path)), None)
        if known is None:
            yield f"{_what(request.method, request.path)}: sent now"
            continue
        left.remove(known)
        yield from _of_pair(known, request)
    yield from (f"{_what(each.method, each.path)}: not sent any more" for each in left)


def _of_pair(known: Sent, request: HTTPRequest) -> Iterator[str]:
    what = _what(request.method, request.path)
    if sorted(known.query) != sorted(request.query):
        yield f"{what}: its query"
    before, now = leaves_of(bytes(known.body)), leaves_of(request.body)
    fields = [path for path in {**before, **now} if before.get(path, _ABSENT) != now.get(path, _ABSENT)]
    yield from (f"{what}: {path}" for path in fields or ["its body"])


def _what(method: str, path: str) -> str:
    found = resource_path(path)
    if found is None:
        return f"{method} {path}"
    return f"{method} {found.plural_and_group}{f'/{found.subresource}' if found.subresource else ''}"


def _end(end: End) -> str:
    after = "" if end.requeue_after is None else f" in {end.requeue_after:g} s"
    return f"{end.outcome.replace('_', ' ')}{after}{'' if end.error is None else f' ({end.error.type})'}"
