# SPDX-License-Identifier: Apache-2.0
"""Command lines inside this process, which spares the start of a process for each line of theirs that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, NoReturn

import pytest


class Ended(NamedTuple):
    """The exit status of a command, and what it wrote."""

    status: object
    stdout: str
    stderr: str


def run_command(main: Callable[[], NoReturn], capsys: pytest.CaptureFixture[str]) -> Ended:
    """Run a command to its exit. Its log and its signals are those of this process, which must be the main thread."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    return Ended(ended.value.code, *capsys.readouterr())
