# SPDX-License-Identifier: Apache-2.0
"""Commands as processes, observed by their output on standard error."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


@contextlib.contextmanager
def running(
    command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run the command inside the block; it is gone after the block, even after an error."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=cwd, env=env)
    with process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """Read lines until one matches; the test's own timeout bounds the wait."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if match := re.search(pattern, line):
            return match
    raise AssertionError(f"it ended without {pattern!r}: {''.join(said)}")
