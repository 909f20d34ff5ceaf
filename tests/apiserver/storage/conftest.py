# SPDX-License-Identifier: Apache-2.0
"""Data directories after a kill and after a stop."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kit.apiserver.journals import write_all

from embedded_apiserver.storage.journal import SQLiteJournal


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A directory as `kill -9` leaves it: most of the writes are only in the write-ahead log."""
    journal = SQLiteJournal(tmp_path / "running")
    write_all(journal)
    shutil.copytree(tmp_path / "running", tmp_path / "killed")
    journal.close()
    return tmp_path / "killed"


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A directory as a server leaves it that was stopped: without a log."""
    journal = SQLiteJournal(tmp_path / "stopped")
    write_all(journal)
    journal.close()
    return tmp_path / "stopped"
