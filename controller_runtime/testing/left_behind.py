# SPDX-License-Identifier: Apache-2.0
"""The reconciles that a failing test leaves behind, as files that `replay` runs again."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from controller_runtime.incidents.files import Folder
from controller_runtime.incidents.recorder import Incidents, Recorder

FOLDER = Path("incidents")
"""The folder in which a failing test leaves its reconciles."""

MOST_LEFT = 20
"""The number of files that one test leaves: its last reconciles."""


class LeftBehind:
    """The recorders of the managers of one cluster.

    Args:
        controllers: The names of the controllers whose reconciles count; all if it is empty.

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
        """Note the recorder of a manager that was made; a restart makes another."""
        if recorder is not None:
            self._recorders.append(recorder)

    def write(self, folder: Path) -> list[Path]:
        """Write the last reconciles into a folder, which is made, and return the files, the oldest first; once only.

        Raises:
            UsageError: Nothing can be written there.
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
    """Return the recorders of a cluster that records these controllers; None for None."""
    return None if controllers is None else LeftBehind(controllers)
