# SPDX-License-Identifier: Apache-2.0
"""Writes the last reconciles of a failing test to files, which `replay` runs again."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from controller_runtime.incidents.files import Folder
from controller_runtime.incidents.options import Incidents
from controller_runtime.incidents.recorder import Recorder

FOLDER = Path("incidents")
"""The folder for the reconciles of a failing test."""

MOST_LEFT = 20
"""The most files that one test writes: its last reconciles."""


class LeftBehind:
    """The recorders of the managers of one cluster.

    Args:
        controllers: The names of the controllers whose reconciles are written; empty for all.

    Attributes:
        options: The options of a manager's recorder.

    Threads: one.
    """

    def __init__(self, controllers: Collection[str]) -> None:
        self.options = Incidents()
        self._controllers = frozenset(controllers)
        self._recorders: list[Recorder] = []
        self._is_written = False

    def note(self, recorder: Recorder | None) -> None:
        """Add the recorder of a new manager; each restart makes another manager. None is ignored."""
        if recorder is not None:
            self._recorders.append(recorder)

    def write(self, folder: Path) -> list[Path]:
        """Write the last reconciles, `MOST_LEFT` at most, into a folder, which is created, and return the files.

        The oldest comes first. A second call writes nothing and returns an empty list.

        Raises:
            UsageError: The folder cannot be made, or nothing can be written to it.
            OSError: A file cannot be written.
        """
        if self._is_written:
            return []
        self._is_written = True
        every = [each for recorder in self._recorders for each in reversed(recorder.all())]
        counting = [each for each in every if not self._controllers or each.controller in self._controllers]
        folder.parent.mkdir(parents=True, exist_ok=True)
        place = Folder(folder)
        files = [(each, each.file()) for each in counting[-MOST_LEFT:]]
        return [place.write(each.controller, each.started, raw) for each, raw in files if raw is not None]


def left_behind(controllers: Collection[str] | None) -> LeftBehind | None:
    """Return the recorders for a cluster that records these controllers; None if `controllers` is None."""
    return None if controllers is None else LeftBehind(controllers)
