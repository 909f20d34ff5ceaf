# SPDX-License-Identifier: Apache-2.0
"""The recent changes of one collection, bounded: what watches replay and exact lists go back along."""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterable, Sequence
from operator import attrgetter

import attrs

from controller_runtime.apiserver.storage.stored import Change, Stored

# Watchers that keep up read the newest changes; lines of older ones are built again when asked for.
_LINES_KEPT = 512


@attrs.frozen(kw_only=True)
class History:
    """How much of the past a collection keeps.

    A real server keeps five minutes in its store. The number bounds the memory of a
    busy collection: the older states of its objects live as long as their changes.

    Attributes:
        changes: At most so many.
        age: None older than so many seconds.
    """

    changes: int = attrs.field(default=20_000, validator=attrs.validators.ge(1))
    age: float = attrs.field(default=300.0, validator=attrs.validators.gt(0))


class Compacted(Exception):
    """The past that was asked for is forgotten; `oldest` is the oldest version that can still be asked for."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"forgotten: the oldest version kept is {oldest}")
        self.oldest = oldest


class Log:
    """The changes, oldest first. Positions count every change since the start, kept or not.

    Threads: guarded by its storage's lock.
    """

    def __init__(self, history: History, oldest: int) -> None:
        self._history = history
        self._changes: deque[Change] = deque()
        self._dropped = 0
        # The oldest version whose following changes are all here.
        self._oldest = oldest

    @property
    def end(self) -> int:
        """The position after the last change."""
        return self._dropped + len(self._changes)

    def append(self, change: Change) -> None:
        """Add a change, newer than all others, and forget what is too much or too old."""
        changes = self._changes
        changes.append(change)
        if len(changes) > _LINES_KEPT:
            changes[-1 - _LINES_KEPT].lines.clear()
        expiry = change.at - self._history.age
        while len(changes) > self._history.changes or changes[0].at < expiry:
            self._oldest = changes.popleft().version
            self._dropped += 1

    def position(self, version: int) -> int:
        """The position of the first change after `version`.

        Raises:
            Compacted: Some of the changes after it are forgotten.
        """
        if version < self._oldest:
            raise Compacted(self._oldest)
        return self._dropped + bisect.bisect_right(self._changes, version, key=attrgetter("version"))

    def slice(self, start: int, stop: int) -> list[Change]:
        """The changes between two positions.

        Raises:
            Compacted: Some of them are forgotten.
        """
        changes, dropped = self._changes, self._dropped
        if start < dropped:
            raise Compacted(self._oldest)
        return [changes[index] for index in range(start - dropped, min(stop - dropped, len(changes)))]


def rewound(items: Iterable[Stored], changes: Sequence[Change], prefix: str) -> list[Stored]:
    """The objects as they were before `changes` (oldest first), in key order.

    Args:
        items: The objects as they are now, of the keys that begin with `prefix`.
        changes: All changes since the state asked for; those of other keys are ignored.
        prefix: Which keys are wanted.
    """
    past = {item.key: item for item in items}
    for change in reversed(changes):
        if not change.key.startswith(prefix):
            continue
        if change.old is None:
            past.pop(change.key, None)
        else:
            past[change.key] = change.old
    return [past[key] for key in sorted(past)]
