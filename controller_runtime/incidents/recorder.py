# SPDX-License-Identifier: Apache-2.0
"""The recorder of a manager: it keeps what the last reconciles did, and leaves a file where one ended in a bug."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import msgspec

from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from apimachinery.texts import kept_text
from controller_runtime.core.attempts import current
from controller_runtime.incidents.attempt import RecordedAttempt
from controller_runtime.incidents.files import Folder, file_name
from controller_runtime.incidents.hooks import LogHandler
from controller_runtime.incidents.incident import MOST_BYTES, Incident, compact, decode
from controller_runtime.incidents.shelf import Shelf, Slowest
from controller_runtime.incidents.standins import StandIns, values_of, without_tokens
from controller_runtime.incidents.steps import Ended, error_of

log = get_logger(__name__)

MEMORY = 8 * 1024 * 1024
"""Bytes of records that a manager keeps by default; the bodies that its caches hold as well are counted, too."""

_SLOWEST_OF_EACH = 4
_FAILED = ("error", "terminal_error", "panic")

Confidential: TypeAlias = "Callable[[dict[str, Any]], Iterable[str | bytes]]"
"""Returns the values of an object that must not be kept, beside those of Secrets."""


@attrs.frozen(kw_only=True)
class Incidents:
    """The options of a manager's recorder, for `Manager(incidents=…)`.

    Attributes:
        folder: Where files are left; None leaves none, and keeps records in memory alone.
        memory: Bytes of records that are kept at most: half of them the last reconciles, a quarter those that failed,
            took too long or woke themselves, and a quarter the slowest of each controller.
        confidential: Returns further values that must not be kept, of each object that a reconcile read or wrote. It is
            called at the end of each reconcile, so it should be quick, and it must be pure.

    Raises:
        ValueError: `memory` is less than the 1 MiB of one file.
    """

    folder: Path | None = None
    memory: int = MEMORY
    confidential: Confidential | None = None

    def __attrs_post_init__(self) -> None:
        if self.memory < MOST_BYTES:
            raise ValueError(f"memory ({self.memory}) must be at least {MOST_BYTES}, the size of one record")


@attrs.frozen(eq=False)
class Kept:
    """One reconcile that is kept.

    Attributes:
        number: Counts the reconciles of the manager, from 1 on.
        controller: The controller's name.
        request: The request, as text.
        started: When it began, by the host's wall clock.
        took: Seconds.
        outcome: How it ended, in lower case.
        error: Its error in one line; empty if there was none.
        reasons: Why it is kept longer than others.
        size: About how many bytes are kept.
        incident: Returns the record.
    """

    number: int
    controller: str
    request: str
    started: datetime
    took: float
    outcome: str
    error: str
    reasons: Sequence[str]
    size: int
    incident: Callable[[], Incident]

    @property
    def file_name(self) -> str:
        """The name that a file of it has."""
        return file_name(self.controller, self.started)

    def file(self) -> bytes | None:
        """Return the file of the incident; None if it would be longer than a file may be."""
        found = without_tokens(compact(self.incident()))
        return found if len(pretty := msgspec.json.format(found, indent=1)) >= MOST_BYTES else pretty + b"\n"


class Recorder:
    """Keeps the last reconciles of a manager within a bounded memory.

    Args:
        host: Its clocks, locks and randomness.
        incidents: Its options.

    Raises:
        UsageError: The folder cannot be used.

    Threads: any.
    """

    def __init__(self, host: Host, incidents: Incidents) -> None:
        self._host = host
        self._confidential = incidents.confidential
        self._folder = None if incidents.folder is None else Folder(incidents.folder)
        self._numbers = itertools.count(1)
        # Guards the shelves and what the folder admits. Nothing is encoded and no file is written under it.
        self._lock = host.lock("incidents")
        self._last: Shelf[Kept] = Shelf(incidents.memory // 2)
        self._failed: Shelf[Kept] = Shelf(incidents.memory // 4)
        self._slowest: Slowest[Kept] = Slowest(incidents.memory // 4, _SLOWEST_OF_EACH)

    @property
    def size(self) -> int:
        """About how many bytes are kept."""
        with self._lock:
            return self._last.size + self._failed.size + self._slowest.size

    def all(self) -> list[Kept]:
        """Return what is kept, the newest first."""
        with self._lock:
            every = [*self._last.all(), *self._failed.all(), *self._slowest.all()]
        kept = {each.number: each for each in every}
        return [kept[number] for number in sorted(kept, reverse=True)]

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Note the lines that attempts log, inside the block."""
        handler = LogHandler(self)
        logging.getLogger().addHandler(handler)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(handler)

    def begin(self, controller: str, request: ObjectKey, timeout: float | None) -> None:
        """Record the reconcile that this thread or coroutine begins."""
        current.set(RecordedAttempt(self._host, self, controller, request, timeout))

    def take(self) -> RecordedAttempt | None:
        """Return the attempt that this thread or coroutine runs, which notes nothing any more."""
        attempt = current.get()
        if not isinstance(attempt, RecordedAttempt):
            return None
        current.set(None)
        attempt.end()
        return attempt

    def ended(
        self,
        attempt: RecordedAttempt,
        outcome: str,
        end: object,
        took: float,
        causes: Sequence[str],
        *,
        is_late: bool,
    ) -> None:
        """Keep an attempt, and leave its file if it ended in a bug.

        Args:
            attempt: As `take` returned it.
            outcome: The outcome as which it was counted, in lower case.
            end: The error that it raised, or its result.
            took: Seconds.
            causes: Why it was requested.
            is_late: Whether it took longer than it may.
        """
        error = end if isinstance(end, BaseException) else None
        if outcome in _FAILED:
            attempt.note(outcome.replace("_", " "))
        if is_late:
            attempt.note("timeout")
        told = None if error is None else error_of(error, with_stack=outcome == "panic")
        ended = Ended(outcome, took, getattr(end, "requeue_after", None) if error is None else None, told, causes)
        kept = self._kept(attempt, ended)
        if kept is None:
            return
        place = (kept.controller, type(error).__name__, _place_of(error))
        with self._lock:
            self._last.add(kept, kept.size)
            if kept.reasons:
                self._failed.add(kept, kept.size)
            self._slowest.add(kept, kept.size, kept.controller, took)
            leaves_file = outcome == "panic" and self._folder is not None and self._folder.admits(place, kept.request)
        if leaves_file:
            self._write(kept)

    def write_all(self) -> str:
        """Write all that is kept into a folder of its own, and return a line that says where, or why not."""
        if self._folder is None:
            return "incidents: none are written, since there is no folder"
        every = ((each.controller, each.started, raw) for each in self.all() if (raw := each.file()) is not None)
        try:
            folder, count = self._folder.write_all(self._host.now(), every)
        except OSError as error:
            return f"incidents: cannot be written: {error}"
        return f"incidents: {count} in {folder}"

    def _kept(self, attempt: RecordedAttempt, ended: Ended) -> Kept | None:
        controller, request, started = attempt.summary()
        head = (next(self._numbers), controller, str(request), started, ended.took, ended.outcome)
        if not attempt.is_confidential and self._confidential is None:
            text = ended.error and kept_text(f"{ended.error.type}: {ended.error.text}")
            error = without_tokens((text or "").encode(errors="replace")).decode(errors="replace")
            return Kept(*head, error, attempt.reasons, attempt.size, lambda: attempt.incident(ended))
        try:
            raw = self._replaced(attempt, ended)
            found = decode(raw, "record")
        except Exception as error:  # noqa: BLE001  a function of the user ends here; nothing is kept of what it failed for
            log.warning("reconcile not kept", controller=controller, error=type(error).__name__)
            return None
        error_line = f"{found.end.error.type}: {found.end.error.text}" if found.end.error is not None else ""
        head = (head[0], controller, found.request, *head[3:])
        return Kept(*head, kept_text(error_line), attempt.reasons, len(raw), lambda: decode(raw, "record"))

    def _replaced(self, attempt: RecordedAttempt, ended: Ended) -> bytes:
        """Return the record with stand-ins; nothing else is kept of an attempt that has seen a Secret."""
        stand_ins = StandIns(values_of(attempt.incident(ended), self._confidential))
        whole = attempt.incident(ended, lambda text: without_tokens(stand_ins.replaced(text)))
        return stand_ins.replaced(compact(whole))

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


def _place_of(error: BaseException | None) -> str:
    trace = None if error is None else error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
