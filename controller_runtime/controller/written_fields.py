# SPDX-License-Identifier: Apache-2.0
"""The fields in which a write differs from the last write to the same path, for people who ask what keeps changing."""

from __future__ import annotations

import functools
import re

import msgspec

from apimachinery.http import HTTPRequest
from controller_runtime.core.leaves import Steps, leaves
from controller_runtime.core.resource_paths import resource_path

LONGEST = 256 * 1024
"""The largest body in bytes whose fields are compared."""

MOST_PLACES = 100
"""The most paths whose last write is remembered."""

MOST_FIELDS = 3
"""The most fields that are named in one finding."""

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d.*")

# Fields that the server sets, and that a whole object repeats.
_SERVER_SET = re.compile(r"\.metadata\.(resourceVersion|generation|uid|creationTimestamp|managedFields.*)")

_PLAIN_NAME = re.compile(r"[A-Za-z_$][\w$-]*")


class WrittenFields:
    """Compares each write with the last write to the same path. Threads: one at a time, under the caller's lock."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], dict[str, object]] = {}

    def changed(self, request: HTTPRequest) -> tuple[tuple[str, ...], bool]:
        """Remember a write, and return how it differs from the last write to the same path.

        Returns:
            At most `MOST_FIELDS` paths of changed fields, such as `.data.seen`, and whether all of them are times. If
            none differ or there was no earlier write, the paths of the write itself. Empty for a body that cannot be
            read or is longer than `LONGEST`.
        """
        place = request.method, request.path
        now = leaves_of(request.body)
        last = self._last.get(place)
        if last is None and len(self._last) >= MOST_PLACES:
            self._last.clear()
        self._last[place] = now
        differing = [] if last is None else [path for path in {**now, **last} if now.get(path) != last.get(path)]
        shown = (differing or [*now])[:MOST_FIELDS]
        return tuple(shown), bool(shown) and all(is_time(now.get(path)) for path in shown)


def leaves_of(body: bytes) -> dict[str, object]:
    """Return the values of a JSON document by path.

    The document is an object, a merge patch, or the operations of a JSON patch. The result is empty if it cannot be
    read or is longer than `LONGEST`.
    """
    if not body or len(body) > LONGEST:
        return {}
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if isinstance(document, list):
        return {str(each["path"]).replace("/", "."): each.get("value") for each in document if _is_operation(each)}
    found = {_text(steps): value for steps, value in leaves(document)}
    return {path: value for path, value in found.items() if not _SERVER_SET.fullmatch(path)}


def _is_operation(each: object) -> bool:
    return isinstance(each, dict) and "path" in each and each.get("op") != "test"


def _text(steps: Steps) -> str:
    """Return a path such as `.spec.containers[0].image`."""
    return "".join(map(_step_text, steps))


@functools.lru_cache(4096)  # most writes of a program have the same names
def _step_text(step: str | int) -> str:
    return f".{step}" if isinstance(step, str) and _PLAIN_NAME.fullmatch(step) else f"[{step!r}]"


def is_time(value: object) -> bool:
    """Return whether a value is a text that starts like a timestamp of Kubernetes."""
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def place_of(request: HTTPRequest) -> str:
    """Return the resource, namespace and name that the path of a request has, such as `pods/default/a`."""
    named = resource_path(request.path)
    return "/".join(filter(None, (named.plural, named.namespace, named.name))) if named is not None else request.path
