# SPDX-License-Identifier: Apache-2.0
"""The folder of incidents: the names of its files, how many there may be, and how one is written whole."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from apimachinery.errors import UsageError

MOST_FILES = 100
"""The most files of errors in one folder, including those of earlier processes: a program that crashes again and again
must not fill a disk.
"""

PART = ".part"
"""The end of the name of a file that is not complete yet."""

MOST_OF_PLACE = 3
"""The most files that one process writes for errors of one class from one line of code."""

_UNFIT = re.compile(r"[^A-Za-z0-9_.]+")


def file_name(controller: str, started: datetime, number: int = 1) -> str:
    """Return the file name of an incident, such as `cabins-2026-11-23T10-14-02.json`.

    `number` distinguishes equal names.
    """
    again = f"-{number}" if number > 1 else ""
    return f"{_UNFIT.sub('-', controller).strip('-.')[:100] or 'controller'}-{started:%Y-%m-%dT%H-%M-%S}{again}.json"


class Folder:
    """A folder for files of incidents. If it does not exist, it is created, and only its owner can read it.

    Args:
        path: The folder.

    Raises:
        UsageError: It is not a folder, or nothing can be written to it.

    Threads: its owner's lock for `admits`; any for the rest.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(mode=0o700, exist_ok=True)
            self._left = MOST_FILES - sum(1 for each in path.iterdir() if each.suffix in (".json", PART))
        except OSError as error:
            raise UsageError(f"--incidents {path}: {error.strerror}: name a folder, or one that can be made") from error
        if not os.access(path, os.W_OK | os.X_OK):
            raise UsageError(f"--incidents {path}: nothing can be written to it: change its owner or its mode")
        self._places: Counter[tuple[str, str, str]] = Counter()
        self._seen: set[tuple[tuple[str, str, str], str]] = set()  # as many as files are written

    def admits(self, place: tuple[str, str, str], request: str) -> bool:
        """Return whether a file for an error may be written, and count it if so.

        `place` is its controller, class and code location.

        Of the errors of one request at one place, only the first is written, so that its retries write no more.
        """
        if self._left <= 0 or self._places[place] >= MOST_OF_PLACE or (place, request) in self._seen:
            return False
        self._seen.add((place, request))
        self._left -= 1
        self._places[place] += 1
        return True

    def write(self, controller: str, started: datetime, raw: bytes) -> Path:
        """Write a file that only its owner can read, and return its path.

        Raises:
            OSError: It cannot be written; no partial file is left.
        """
        return _written(self.path, controller, started, raw)

    def write_all(self, at: datetime, incidents: Iterable[tuple[str, datetime, bytes]]) -> tuple[Path, int]:
        """Write many files into a subfolder of their own, and return the subfolder and their number.

        Args:
            at: The current time, from which the name of the subfolder is made.
            incidents: The controller, the start time and the bytes of each incident.

        Raises:
            OSError: A file cannot be written; earlier files remain.
        """
        folder = self.path / f"all-{at:%Y-%m-%dT%H-%M-%S}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder, len([_written(folder, *each) for each in incidents])


def _written(folder: Path, controller: str, started: datetime, raw: bytes) -> Path:
    number = 1
    while True:
        path = folder / file_name(controller, started, number)
        part = path.with_suffix(PART)
        try:
            # A process that ends in the middle leaves a part, which no replay takes for an incident.
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            number += 1
            continue
        try:
            with os.fdopen(handle, "wb") as file:
                if not os.path.lexists(path):  # the part is this writer's alone, and with it the name
                    file.write(raw)
                    file.flush()
                    part.rename(path)
                    return path
        except OSError:
            part.unlink(missing_ok=True)
            raise
        part.unlink()
        number += 1
