# SPDX-License-Identifier: Apache-2.0
"""The recent changes of one collection: watches replay them, and lists of a past version are computed from them."""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

import attrs

from embedded_apiserver.storage.stored import Change, Stored

# The newest changes, whose encoded lines are cached: most watchers read only these. For older ones a line is encoded
# again when a watcher needs it.
_CACHED_LINES = 512


@attrs.frozen(kw_only=True)
class History:
    """The limits of the recorded changes of a collection.

    The number bounds the memory of a busy collection, because each change keeps the former state of its object.

    Attributes:
        changes: The maximum number of changes to keep.
        age: The age in seconds beyond which the next write to the collection drops a change. The default is that of a
            real API server's etcd.
    """

    changes: int = attrs.field(default=20_000, validator=attrs.validators.ge(1))
    age: float = attrs.field(default=300.0, validator=attrs.validators.gt(0))


class Compacted(Exception):
    """The requested changes have been dropped from the history.

    Attributes:
        oldest: The oldest version after which all changes are still recorded.
    """

    def __init__(self, oldest: int) -> None:
        super().__init__(f"the history is compacted: the oldest version available is {oldest}")
        self.oldest = oldest


class Batch(NamedTuple):
    """The result of one `Cursor.take`.

    Attributes:
        changes: The changes, oldest first.
        version: The version up to which the reader has received all changes; None if there are more changes, or the
            collection has ended, so that the reader is to call `take` again at once.
    """

    changes: list[Change]
    version: int | None


class Log:
    """The recent changes of one collection, oldest first.

    A position is the number of all earlier changes, including dropped ones, so it stays valid when changes are dropped.

    Args:
        history: The limits.
        oldest: The version with which the collection begins.

    Threads: guarded by the storage's lock.
    """

    def __init__(self, history: History, oldest: int) -> None:
        self._history = history
        self._changes: deque[Change] = deque()
        self._dropped = 0
        # The version of the last dropped change, at first the given one: all changes that follow it are here.
        self._oldest = oldest

    @property
    def end(self) -> int:
        """The position after the last change."""
        return self._dropped + len(self._changes)

    def append(self, change: Change) -> None:
        """Add the newest change, and drop the oldest changes beyond the limits."""
        changes = self._changes
        changes.append(change)
        if len(changes) > _CACHED_LINES:
            changes[-1 - _CACHED_LINES].lines.clear()
        expiry = change.at - self._history.age
        while len(changes) > self._history.changes or changes[0].at < expiry:
            self._oldest = changes.popleft().version
            self._dropped += 1

    def forget(self, version: int, *, ends_readers: bool) -> None:
        """Drop all changes, so that `version` becomes the oldest version that can be read.

        `ends_readers` also expires the cursors that have read all changes.
        """
        self._dropped += len(self._changes) + ends_readers
        self._changes.clear()
        self._oldest = version

    def position(self, version: int) -> int:
        """Return the position of the first change after the resourceVersion `version`.

        Raises:
            Compacted: Some of the changes after it have been dropped.
        """
        if version < self._oldest:
            raise Compacted(self._oldest)
        return self._dropped + bisect.bisect_right(self._changes, version, key=attrgetter("version"))

    def slice(self, start: int, stop: int) -> list[Change]:
        """Return the changes from position `start` up to `stop`, which may be after the last change.

        Raises:
            Compacted: Some of these changes have been dropped.
        """
        changes, dropped = self._changes, self._dropped
        if start < dropped:
            raise Compacted(self._oldest)
        return [changes[index] for index in range(start - dropped, min(stop - dropped, len(changes)))]


def rewound(items: Iterable[Stored], changes: Sequence[Change], prefix: str) -> list[Stored]:
    """Return the objects as they were before `changes`, sorted by key.

    Args:
        items: The current objects whose keys begin with `prefix`.
        changes: All changes since the requested state, oldest first; changes of other keys are ignored.
        prefix: The prefix of the requested keys.
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
