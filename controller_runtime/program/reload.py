# SPDX-License-Identifier: Apache-2.0
"""Imports a program again when its files have changed."""

from __future__ import annotations

import importlib.util
import linecache
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from controller_runtime.manager.manager import Setup
from controller_runtime.program.origin import Origin, ProgramFailed, forgotten, modules_below

POLL = 0.2
"""Seconds between two checks of the files."""

Stamp = tuple[int, int]
"""The time of a file's last change in nanoseconds, and its size in bytes."""


def stamps(paths: Iterable[Path]) -> dict[Path, Stamp]:
    """Return the stamps (to detect changes) of those files that exist.

    An editor that replaces a file removes it for a moment.
    """
    found = {}
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
    return found


def changed_files(before: Mapping[Path, Stamp], now: Mapping[Path, Stamp]) -> list[Path]:
    """Return the files that exist now and whose stamps have changed."""
    return [path for path, stamp in now.items() if before.get(path) != stamp]


class Sources:
    """The files of a program, to detect changes and import them again.

    Args:
        origin: The source of the setup function, which is imported already.

    Raises:
        UsageError: The module was not loaded from a file.

    Threads: one.
    """

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._folder = origin.folder.resolve()
        # A cached module is valid for a file of the same size and second, so a quick second edit would not be seen.
        sys.dont_write_bytecode = True
        self._seen = stamps(self._files())

    def changed(self) -> list[Path]:
        """Return the files that have changed since the last call, or since they were imported."""
        now = stamps([*self._seen, *self._files()])
        changed = changed_files(self._seen, now)
        self._seen |= now
        return changed

    def load(self, changed: Iterable[Path]) -> Setup:
        """Import all modules of the program again, and return the setup function.

        Args:
            changed: The files that have changed; their compiled code is removed.

        Raises:
            UsageError: The setup function does not exist any more.
            ProgramFailed: A module raised an error. The earlier modules are then restored.
        """
        for path in changed:
            Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        linecache.checkcache()
        try:
            with forgotten(self._folder):
                setup = self._origin.load()
        except ProgramFailed as failure:
            # A file that fails is in no module, and its author will mend it.
            self._seen = stamps(_files_of(failure, self._folder)) | self._seen
            raise
        self._seen |= {path: stamp for path, stamp in stamps(self._files()).items() if path not in self._seen}
        return setup

    def _files(self) -> list[Path]:
        own = [self._origin.path] if self._origin.path is not None else []
        return [*own, *modules_below(self._folder).values()]


def _files_of(failure: ProgramFailed, folder: Path) -> list[Path]:
    """Return the files below `folder` in which an import failed."""
    files = []
    error = failure.__cause__
    if isinstance(error, SyntaxError) and error.filename is not None:
        files.append(Path(error.filename).resolve())
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        files.append(Path(trace.tb_frame.f_code.co_filename).resolve())
        trace = trace.tb_next
    return [path for path in files if path.is_relative_to(folder)]
