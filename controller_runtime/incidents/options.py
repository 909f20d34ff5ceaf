# SPDX-License-Identifier: Apache-2.0
"""The options of a manager's recorder."""

from __future__ import annotations

from pathlib import Path

import attrs

from controller_runtime.incidents.encoding import Confidential
from controller_runtime.incidents.incident import MOST_BYTES

MEMORY = 8 * 1024 * 1024
"""The default size of the kept records of a manager, in bytes. Bodies that the caches hold anyway are counted, too."""


@attrs.frozen(kw_only=True)
class Incidents:
    """The options of a manager's recorder, for `Manager(incidents=…)`.

    Attributes:
        folder: The folder for files of reconciles that ended in a bug; None keeps records only in memory.
        memory: The most bytes of records in memory. Half is for the last reconciles (an eighth of it for those without
            steps), a quarter for those that failed, took too long, or again and again followed from their own writes, a
            quarter for the slowest of each controller.
        confidential: Returns additional values that must not be recorded, of an object that a reconcile read or wrote.
            It is called at the end of each reconcile, so it must be quick and pure.

    Raises:
        ValueError: `memory` is less than the 1 MiB of one file.
    """

    folder: Path | None = None
    memory: int = MEMORY
    confidential: Confidential | None = None

    def __attrs_post_init__(self) -> None:
        if self.memory < MOST_BYTES:
            raise ValueError(f"memory ({self.memory}) must be at least {MOST_BYTES}, the size of one record")
