# SPDX-License-Identifier: Apache-2.0
"""The table of the process: its memory and its threads."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from apimachinery.system import thread_names
from controller_runtime.manager.page.tables import StatusRow, StatusTable, size

_STATM = Path("/proc/self/statm")


def process_table() -> StatusTable:
    """Return the table of the process. It has no memory on systems without Linux' `/proc`."""
    names = thread_names()
    rows = [
        StatusRow(("process", f"{os.getpid()} on Python {platform.python_version()}")),
        StatusRow(("threads", len(names))),
        StatusRow(("their names", ", ".join(names))),
    ]
    if memory := resident_bytes():
        rows.insert(1, StatusRow(("memory", size(memory))))
    return StatusTable("Process", ("what", "value"), rows)


def resident_bytes() -> int:
    """Return the resident memory of the process in bytes; zero if the system does not report it."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
