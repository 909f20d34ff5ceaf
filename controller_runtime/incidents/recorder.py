# SPDX-License-Identifier: Apache-2.0
"""The recorder of a manager: it keeps what the last reconciles did, and leaves a file where one ended in a bug."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections import deque
from collections.abc import Iterator
from enum import Enum
from typing import TypeAlias

from apimachinery.host import Host
from apimachinery.log import get_logger
from controller_runtime.core.attempts import Ended, current, current_attempt
from controller_runtime.incidents.attempt import RecordedAttempt, Source
from controller_runtime.incidents.bounds import plain_size
from controller_runtime.incidents.encoding import TooConfidential, encoded
from controller_runtime.incidents.files import Folder
from controller_runtime.incidents.finished import Anchor, Encoded, Finished, Kept, Note
from controller_runtime.incidents.hooks import LogHandler
from controller_runtime.incidents.options import Incidents
from controller_runtime.incidents.shelf import Shelf, Slowest
from controller_runtime.incidents.steps import error_of, place_of

log = get_logger(__name__)

_SLOWEST_OF_EACH, _BATCH = 4, 32  # records of a controller, and notes that are sorted at a time
_LARGE = 8000  # bytes of an attempt that is sorted at once
_QUIET = 500  # bytes of a reconcile that did nothing, about
_MOST_NOTED = _BATCH * _LARGE  # bytes that are not sorted yet, at most
_FAILED = ("error", "terminal_error", "panic")

Item: TypeAlias = "Note | Encoded"


class Attempts:
    """Records the reconciles of one controller; implements `ControllerAttempts`.

    Args:
        recorder: Keeps the records.
        source: The data that all attempts of the controller share.

    Threads: any.
    """

    def __init__(self, recorder: Recorder, source: Source) -> None:
        self._recorder = recorder
        self._source = source
        self._quiet, self._number, self._notes = recorder.quiet.append, recorder.next_number, recorder.notes

    def begin(self) -> None:
        """Begin to record the reconcile that this thread or coroutine starts."""
        attempt = current_attempt()
        if type(attempt) is not RecordedAttempt or attempt.source is not self._source:
            attempt = RecordedAttempt(self._source)
            current.set(attempt)
        attempt.is_open = True

    def take(self) -> RecordedAttempt | None:
        """End the recording that `begin` started, and return it; None if nothing was recorded.

        Setting a context variable costs as much as a tenth of a reconcile that does nothing, so an empty attempt is
        reused for the next reconcile. As a consequence, a thread with a copy of the context of a reconcile of which
        nothing was recorded, and that outlives it, counts as part of the next one.
        """
        attempt = current_attempt()
        if type(attempt) is not RecordedAttempt:
            return None
        attempt.is_open = False
        if attempt.steps:
            size = plain_size(attempt.steps) if attempt.bounds is None else 0
            if size:
                attempt.size = size
            else:
                attempt.count()
        elif not attempt.is_noted:
            return None
        current.set(RecordedAttempt(self._source))
        return attempt

    def ended(
        self,
        attempt: RecordedAttempt | None,
        ended: Ended,
        outcome: Enum,
        end: object,
        took: float,
        is_late: bool,
    ) -> None:
        """Keep the record of a reconcile that has ended, as far as it is needed; see `ControllerAttempts.ended`."""
        source = self._source
        if is_late or isinstance(end, BaseException):
            found = attempt or RecordedAttempt(source)
            self._recorder.keep_failed(found, ended, outcome, end, took, is_late=is_late)
        elif attempt is None:
            # Most reconciles of a large queue do nothing, and this is all that they cost.
            if took <= source.floor:
                self._quiet((self._number(), source, None, ended, outcome, end, took))
            else:
                self._recorder.keep(RecordedAttempt(source), ended, outcome, end, took)
        elif attempt.bounds is not None or source.hides_all:
            self._recorder.keep(attempt, ended, outcome, end, took)
        else:  # as `keep` does, without a call
            notes = self._notes
            notes.append((self._number(), source, attempt, ended, outcome, end, took))
            if len(notes) >= _BATCH or attempt.size > _LARGE:
                self._recorder.sort()


class Recorder:
    """Keeps the last reconciles of a manager within a bounded memory.

    For speed, workers append references to a list without a lock. At 32 of them, at a large one, and before each read
    they are sorted under the lock. Confidential ones are encoded at once, and those in `quiet` are not sorted.

    Args:
        host: The source of time, locks and randomness.
        incidents: The options.

    Raises:
        UsageError: The folder cannot be used.

    Attributes:
        quiet: The records of the last reconciles that did nothing and were not slow.
        notes: The reconciles that have ended and are not sorted yet, the oldest first.
        next_number: Returns the number of the next reconcile that ends.

    Threads: any.
    """

    def __init__(self, host: Host, incidents: Incidents) -> None:
        self._host = host
        self._confidential = incidents.confidential
        self._folder = None if incidents.folder is None else Folder(incidents.folder)
        self.next_number = itertools.count(1).__next__
        self.quiet: deque[Note] = deque(maxlen=incidents.memory // 16 // _QUIET)
        self.notes: deque[Note] = deque()
        # Guards the shelves and what the folder admits. Nothing is encoded and no file is written under it.
        self._lock = host.lock("incidents")
        self._last: Shelf[Item] = Shelf(incidents.memory // 16 * 7 - _MOST_NOTED)
        self._largest_batch = incidents.memory // 64
        self._failed: Shelf[Item] = Shelf(incidents.memory // 4)
        self._slowest: Slowest[Item] = Slowest(incidents.memory // 4, _SLOWEST_OF_EACH)

    @property
    def size(self) -> int:
        """The approximate size of all kept records in bytes."""
        with self._lock:
            self._sort()
            return self._last.size + self._failed.size + self._slowest.size + _QUIET * len(self.quiet)

    def all(self) -> list[Kept]:
        """Return the summaries of the kept records, the newest first."""
        with self._lock:
            self._sort()
            every = [*self._last.all(), *self._failed.all(), *self._slowest.all(), *self.quiet.copy()]
        kept = {_number_of(each): each for each in every}
        return [self._kept(kept[number]) for number in sorted(kept, reverse=True)]

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Return a context manager: inside its block, logged lines are added to the records of running reconciles."""
        handler = LogHandler(self)
        logging.getLogger().addHandler(handler)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(handler)

    def of(self, controller: str, timeout: float | None) -> Attempts:
        """Return the recorder of the reconciles of one controller; `timeout` limits a reconcile, in seconds."""
        return Attempts(self, Source(self._host, self, controller, timeout, self._confidential is not None))

    def keep(self, attempt: RecordedAttempt, ended: Ended, outcome: Enum, end: object, took: float) -> Item | None:
        """Keep a reconcile's record, with its result or its error as text, and return it; None if it is not kept."""
        note = (self.next_number(), attempt.source, attempt, ended, outcome, end, took)
        bounds = attempt.bounds
        if self._confidential is not None or (bounds is not None and (bounds.is_confidential or bounds.is_unsafe)):
            return self._keep_encoded(Finished._make(note), attempt)
        notes = self.notes  # without the lock: a deque is appended to, and its length read, as a whole
        notes.append(note)
        if len(notes) >= _BATCH or attempt.size > _LARGE:
            self.sort()
        return note

    def keep_failed(
        self, attempt: RecordedAttempt, ended: Ended, outcome: Enum, end: object, took: float, *, is_late: bool
    ) -> None:
        """Keep the record of a reconcile that raised an error or took too long, and write a file if the error is a bug.

        The error is converted to text immediately, because it refers to the frames of its stack and their objects.
        """
        error = end if isinstance(end, BaseException) else None
        name = outcome.name.lower()
        reasons = [name.replace("_", " ")] if name in _FAILED else []
        attempt.reasons = [*attempt.reasons, *reasons, *(["timeout"] if is_late else [])]
        told = end if error is None else error_of(error, with_stack=name == "panic")
        item = self.keep(attempt, ended, outcome, told, took)
        if item is None or name != "panic" or self._folder is None:
            return
        kept = self._kept(item)
        with self._lock:
            leaves_file = self._folder.admits((kept.controller, type(error).__name__, place_of(error)), kept.request)
        if leaves_file:
            self._write(kept)

    def write_all(self) -> str:
        """Write all kept records into a subfolder; return a line with its path, or with why that failed."""
        if self._folder is None:
            return "incidents: none are written, since there is no folder"
        every = ((each.controller, each.started, raw) for each in self.all() if (raw := each.file()) is not None)
        try:
            folder, count = self._folder.write_all(self._host.now(), every)
        except OSError as error:
            return f"incidents: cannot be written: {error}"
        return f"incidents: {count} in {folder}"

    def sort(self) -> None:
        """Put the notes on their shelves."""
        with self._lock:
            self._sort()

    def _sort(self) -> None:
        # Only holders of the lock remove notes, so there are as many at least.
        notes = [self.notes.popleft() for _ in range(len(self.notes))]
        total = 0
        for note in notes:
            attempt = note[2]
            if attempt is None:
                continue
            total += (size := attempt.size)
            if attempt.reasons:
                self._failed.add(note, size)
            if note[6] > note[1].floor:
                self._add_slow(note, size, note[1], note[6])
        if total <= self._largest_batch:
            self._last.extend(notes, total)
            return
        for note in notes:  # each may be dropped alone
            if (attempt := note[2]) is not None:
                self._last.add(note, attempt.size)

    def _add_slow(self, item: Item, size: int, source: Source, took: float) -> None:
        source.floor = self._slowest.add(item, size, source.controller, took)

    def _keep_encoded(self, finished: Finished, attempt: RecordedAttempt) -> Encoded | None:
        """Keep the record with stand-ins; nothing else is kept of an attempt that has seen a Secret."""
        try:
            item = encoded(finished, self._anchor(), self._confidential)
        except Exception as error:  # noqa: BLE001  a function of the user ends here; nothing is kept of what it failed for
            self._tell(finished.source, error)
            return None
        size = len(item.raw)
        with self._lock:
            self._last.add(item, size)
            if attempt.reasons:
                self._failed.add(item, size)
            self._add_slow(item, size, finished.source, finished.took)
        return item

    def _tell(self, source: Source, error: Exception) -> None:
        """Log that a reconcile is not kept: as a warning once for each controller, then at level DEBUG."""
        tell = log.debug if source.has_told else log.warning
        source.has_told = True
        why = str(error) if isinstance(error, TooConfidential) else type(error).__name__
        tell("reconcile not kept", controller=source.controller, error=why)

    def _anchor(self) -> Anchor:
        return self._host.now(), self._host.monotonic()

    def _kept(self, item: Item) -> Kept:
        return item.kept() if isinstance(item, Encoded) else Finished._make(item).kept(self._anchor())

    def _write(self, kept: Kept) -> None:
        assert self._folder is not None, "asked only with a folder"
        raw = kept.file()
        if raw is None:
            return
        try:
            path = self._folder.write(kept.controller, kept.started, raw)
        except OSError as error:
            log.warning("incident cannot be written", folder=self._folder.path, error=error)
            return
        log.warning("incident kept", file=path, controller=kept.controller, request=kept.request)


def _number_of(item: Item) -> int:
    return item.number if isinstance(item, Encoded) else item[0]
