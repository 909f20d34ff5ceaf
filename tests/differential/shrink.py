# SPDX-License-Identifier: Apache-2.0
"""The smallest requests that still show a difference: earlier requests, fields, headers and parameters are left out."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from differential.operations import PATH, Operation
from differential.play import Play
from differential.servers import Embedded, Real

BUDGET = 80
"""The most sequences that are tried for one difference."""


class Shrinker:
    """Shrinks sequences whose last operation shows a signature."""

    def __init__(self, embedded: Embedded, real: Real, prefix: str) -> None:
        self._servers = embedded, real
        self._prefix = prefix
        self._tried = 0
        self._left = 0

    def shrink(self, operations: Sequence[Operation], signature: tuple[str, str]) -> list[Operation]:
        """Return fewer and smaller operations, the last of which still shows the signature."""
        self._left = BUDGET
        last = operations[-1]
        near = [one for one in operations[:-1] if one.item == last.item or "customresourcedefinitions" in one.path]
        kept = [*operations]
        for start in ([last], [*near, last]):
            if len(start) < len(kept) and self._shows(start, signature):
                kept = start
                break
        index = len(kept) - 2
        while index >= 0:
            fewer = kept[:index] + kept[index + 1 :]
            if self._shows(fewer, signature):
                kept = fewer
            index -= 1
        for index in range(len(kept) - 1, -1, -1):
            kept = self._smaller(kept, index, signature)
        return kept

    def _shows(self, operations: Sequence[Operation], signature: tuple[str, str]) -> bool:
        if self._left <= 0:
            return False
        self._left -= 1
        self._tried += 1
        play = Play(*self._servers, f"{self._prefix}{self._tried}")
        *_, result = play.run(operations)
        return any((one.number, one.signature(result.operation)) == signature for one in result.found)

    def _smaller(self, kept: list[Operation], index: int, signature: tuple[str, str]) -> list[Operation]:
        is_smaller = True
        while is_smaller and self._left > 0:
            is_smaller = False
            for candidate in _simpler(kept[index]):
                changed = [*kept[:index], candidate, *kept[index + 1 :]]
                if self._shows(changed, signature):
                    kept, is_smaller = changed, True
                    break
        return kept


def _simpler(operation: Operation) -> Iterator[Operation]:
    """Yield the operation without one of its parts each time, the larger parts first."""
    for name in operation.headers:
        if name != "content-type":
            yield attrs.evolve(operation, headers={k: v for k, v in operation.headers.items() if k != name})
    for part in filter(None, operation.query.split("&")):
        if not part.startswith("watch") and PATH.match(operation.path):
            query = "&".join(one for one in operation.query.split("&") if one != part)
            yield attrs.evolve(operation, target="?".join(filter(None, (operation.path, query))))
    for index in range(len(operation.edits)):
        yield attrs.evolve(operation, edits=operation.edits[:index] + operation.edits[index + 1 :])
    if isinstance(operation.body, dict | list):
        for path in sorted(_paths(operation.body), key=len):
            yield attrs.evolve(operation, body=_without(operation.body, path))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        if (*path, key) not in (("metadata",), ("metadata", "name")):
            yield (*path, key)
        yield from _paths(each, (*path, key))


def _without(body: Any, path: tuple[Any, ...]) -> Any:
    found = copy.deepcopy(body)
    place = found
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return found
