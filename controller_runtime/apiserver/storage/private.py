# SPDX-License-Identifier: Apache-2.0
"""Files and directories that their owner alone may read, whatever the umask; and a warning where others may."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from controller_runtime.core.log import get_logger

log = get_logger(__name__)

_OWNER_ONLY_DIRECTORY, _OWNER_ONLY = 0o700, 0o600


def make_private_directory(path: Path) -> None:
    """Create a directory with mode 0700 if it is missing. One that exists is left as it is.

    Raises:
        OSError: It cannot be created, or is no directory.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=_OWNER_ONLY_DIRECTORY)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(_OWNER_ONLY_DIRECTORY)  # the umask may have taken more


def open_private(path: Path, flags: int) -> int:
    """Open a file, created with mode 0600 if it is missing; return its descriptor. An existing mode is left as it is.

    Raises:
        OSError: It cannot be opened, or is a directory.
    """
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(descriptor, _OWNER_ONLY)  # the umask may have taken more
    return descriptor


def check_is_usable(path: Path) -> None:
    """See that a file can be read and written, if it is there.

    Raises:
        OSError: It cannot, or is something else than a file: a pipe would not let go of who reads it.
    """
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        os.close(os.open(path, os.O_RDWR))


def remedy_for(error: Exception) -> str:
    """Return what to do about a file or directory that cannot be used."""
    if isinstance(error, PermissionError):
        return "run the server as the owner of the directory and its files"
    if isinstance(error, IsADirectoryError | NotADirectoryError | FileExistsError):
        return "move it away"
    return "mend that, or choose another directory with --data-dir"


def warn_if_shared(paths: Iterable[Path]) -> None:
    """Log one line if other users may read or write some of these files and directories."""
    if shared := [str(path) for path in paths if _is_shared(path)]:
        log.warning(f"other users may read what the server keeps: run chmod go= {shlex.join(shared)}")


def _is_shared(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and bool(mode & (stat.S_IRWXG | stat.S_IRWXO))
