# SPDX-License-Identifier: Apache-2.0
"""Makes files and directories that only their owner may read, whatever the umask, and warns of others."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from apimachinery.log import get_logger

log = get_logger(__name__)

_OWNER_ONLY_DIRECTORY, _OWNER_ONLY = 0o700, 0o600


def make_private_directory(path: Path) -> None:
    """Create a directory with mode 0700 if it does not exist. The mode of an existing directory is not changed.

    Raises:
        OSError: The directory cannot be created, or the path is not a directory.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=_OWNER_ONLY_DIRECTORY)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(_OWNER_ONLY_DIRECTORY)  # the umask may have removed some of the owner's own permissions


def open_private(path: Path, flags: int) -> int:
    """Open a file and return its descriptor. If the file does not exist, it is created with mode 0600.

    The mode of an existing file is not changed. Neither is affected by the umask.

    Args:
        path: The file.
        flags: The flags of `os.open`, without those for creation.

    Raises:
        OSError: The file cannot be opened, or is a directory.
    """
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(descriptor, _OWNER_ONLY)  # as above
    return descriptor


def check_is_usable(path: Path) -> None:
    """Check that a file can be read and written. A missing file passes.

    Raises:
        OSError: The file cannot be read and written, or is not a regular file. (Opening a named pipe, for example,
            could block forever.)
    """
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        os.close(os.open(path, os.O_RDWR))


def remedy_for(error: Exception) -> str:
    """Return advice on a file or directory that raised `error`, for an error message."""
    if isinstance(error, PermissionError):
        return "run the server as the owner of the directory and its files"
    if isinstance(error, IsADirectoryError | NotADirectoryError | FileExistsError):
        return "move it away"
    return "mend that, or choose another directory with --data-dir"


def warn_if_shared(paths: Iterable[Path]) -> None:
    """Log a warning with advice if other users may read or write some of these files and directories."""
    if shared := [str(path) for path in paths if _is_shared(path)]:
        log.warning(f"other users may read what the server keeps: run chmod go= {shlex.join(shared)}")


def _is_shared(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and bool(mode & (stat.S_IRWXG | stat.S_IRWXO))
