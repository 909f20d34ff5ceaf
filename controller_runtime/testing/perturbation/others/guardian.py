# SPDX-License-Identifier: Apache-2.0
"""The guardian of a run's processes: a separate program, so that they end even if the `perturb` command is killed.

It reads requests from standard input and answers on standard output, one JSON document per line. When its input ends,
for whatever reason, it kills all processes that it started, removes the folder of the run, and exits. It is started by
its path, and needs only the standard library.

On Linux it adopts every descendant whose parent has ended (`PR_SET_CHILD_SUBREAPER`), so it finds all descendants, even
those in other sessions. On other systems it knows only the sessions that it has started.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_SET_CHILD_SUBREAPER = 36  # of prctl(2)
_GONE = 5
"""Seconds within which killed processes have to be gone; a process that waits for a disk may take some."""

PROC = Path("/proc")


class Overdue(Exception):
    """Killed processes have not ended in time."""


class Guardian:
    """Starts processes, reports on them, and kills them.

    Threads: one.
    """

    def __init__(self) -> None:
        self._first: subprocess.Popen[bytes] | None = None
        self._status: int | None = None
        self._reaps = _becomes_subreaper()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request and return its answer.

        Args:
            request: The field `do` is `start`, `look` or `end`; `start` has also `command`, `environment` and `log`.
        """
        match request["do"]:
            case "start":
                return self._start(request["command"], request["environment"], request["log"])
            case "look":
                return self._look()
            case _:
                return {"left": self.end()}

    def end(self) -> list[str]:
        """Kill all processes with SIGKILL, and return texts about the ones that are still alive after five seconds."""
        signal.alarm(_GONE)
        try:
            while True:
                self._kill()
                pid, _ = os.waitpid(-1, 0)  # orphans are children of this process now
                if self._first is not None and pid == self._first.pid:
                    self._first = None
        except (ChildProcessError, Overdue):
            pass
        finally:
            signal.alarm(0)
        self._first = None
        return [_shown(pid) for pid in self._descendants()]

    def _start(self, command: list[str], environment: dict[str, str], log: str) -> dict[str, Any]:
        self._status = None
        try:
            with Path(log).open("ab") as output:
                self._first = subprocess.Popen(
                    command,
                    env={**os.environ, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
        except OSError as error:
            return {"error": error.strerror or str(error)}
        return {"pid": self._first.pid}

    def _kill(self) -> None:
        if not self._reaps and self._first is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._first.pid, signal.SIGKILL)
        for pid in self._descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def _look(self) -> dict[str, Any]:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                if self._first is not None and ended[0] == self._first.pid:
                    self._status = os.waitstatus_to_exitcode(ended[1])
        found = self._descendants()
        return {
            "alive": self._first is not None and self._status is None,
            "status": self._status,
            "processes": len(found),
            "busy": any(map(_is_busy, found)),
        }

    def _descendants(self) -> list[int]:
        """Return the processes below this one; none elsewhere than on Linux."""
        if not self._reaps:
            return []
        parents = {int(each.name): _parent(each) for each in PROC.iterdir() if each.name.isdecimal()}
        found = {os.getpid()}
        while more := {pid for pid, parent in parents.items() if parent in found and pid not in found}:
            found |= more
        return sorted(found - {os.getpid()})


def _becomes_subreaper() -> bool:
    """Become the parent of orphans below this process; return whether that is so."""
    if not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) and (PROC / "self/stat").exists()


def _fields(stat: Path) -> list[str]:
    """Return the fields of a process or a thread from its state on; empty if it has ended."""
    with contextlib.suppress(OSError):
        return stat.read_text(errors="replace").rpartition(") ")[2].split()
    return []


def _parent(process: Path) -> int:
    """Return the parent of a process; 0 if the process is gone."""
    fields = _fields(process / "stat")
    return int(fields[1]) if fields else 0


def _is_busy(pid: int) -> bool:
    """Return whether a thread of a process runs, or waits for a processor."""
    try:
        return any(_fields(task / "stat")[:1] == ["R"] for task in (PROC / str(pid) / "task").iterdir())
    except OSError:
        return False


def _shown(pid: int) -> str:
    with contextlib.suppress(OSError):
        command = (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return f"process {pid} ({command[:60]})"
    return f"process {pid}"


def _is_overdue(number: int, frame: object) -> None:
    raise Overdue


def main() -> None:
    """Answer requests until standard input ends; then kill all processes and remove the folder of the run."""
    # Handlers, because a signal that is ignored would be ignored by the processes as well.
    for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, frame: None)
    signal.signal(signal.SIGALRM, _is_overdue)
    folder = Path(tempfile.mkdtemp(prefix="perturb-"))
    (folder / "guardian").write_text(str(os.getpid()))
    guardian = Guardian()
    try:
        _say({"folder": str(folder)})
        for line in sys.stdin:
            _say(guardian.answer(json.loads(line)))
    except BrokenPipeError:
        pass
    finally:
        guardian.end()
        shutil.rmtree(folder, ignore_errors=True)


def _say(answer: dict[str, Any]) -> None:
    os.write(sys.stdout.fileno(), f"{json.dumps(answer)}\n".encode())


if __name__ == "__main__":
    main()
