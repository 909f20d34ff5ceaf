# SPDX-License-Identifier: Apache-2.0
"""A program for containers that does what `tar` does, on a dict of files; `kubectl cp` calls it."""

from __future__ import annotations

import io
import posixpath
from collections.abc import Callable, MutableMapping

from embedded_apiserver.programs.process import Process

_NOT_FOUND = 127
_FAILED = 2


def tar(
    files: MutableMapping[str, bytes], other: Callable[[Process], int | None] | None = None
) -> Callable[[Process], int | None]:
    """Return a program for `kubectl cp`: it runs `tar cf - PATH`, `tar xf - -C FOLDER` and `test -d PATH` on a dict of
    files.

    Args:
        files: The contents of the files by absolute path. Files copied into the container are added to it. Folders
            exist only as parts of paths.
        other: The program for all other commands; None to end them with exit status 127.
    """

    def run(process: Process) -> int | None:
        match process.args:
            case ("test", "-d", path):
                return 0 if any(_inside(name, _absolute(path)) for name in files) else 1
            case ("tar", flags, "-", *rest) if "c" in flags and "f" in flags:
                return _pack(process, files, [path for path in rest if not path.startswith("-")])
            case ("tar", flags, "-", *rest) if "x" in flags and "f" in flags:
                return _unpack(process, files, _folder(rest))
        if other is not None:
            return other(process)
        process.stderr.write(f"{process.args[0] if process.args else ''}: command not found\n")
        return _NOT_FOUND

    return run


def _pack(process: Process, files: MutableMapping[str, bytes], paths: list[str]) -> int:
    import tarfile  # here and below, because most servers run no `kubectl cp`

    code = 0
    with tarfile.open(fileobj=_Sink(process), mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for path in paths:
            wanted = _absolute(path)
            found = sorted(name for name in files if name == wanted or _inside(name, wanted))
            if not found:
                process.stderr.write(f"tar: {path}: Cannot stat: No such file or directory\n")
                code = _FAILED
            for name in found:
                entry = tarfile.TarInfo(name.lstrip("/"))
                entry.size, entry.mode = len(files[name]), 0o644
                entry.mtime = int(process.clock.now().timestamp())
                archive.addfile(entry, io.BytesIO(files[name]))
    return code


def _unpack(process: Process, files: MutableMapping[str, bytes], folder: str) -> int:
    import tarfile

    try:
        with tarfile.open(fileobj=process.stdin, mode="r|*") as archive:
            for entry in archive:
                content = archive.extractfile(entry) if entry.isfile() else None
                if content is not None:
                    files[_absolute(posixpath.join(folder, entry.name))] = content.read()
    except tarfile.TarError as error:
        process.stderr.write(f"tar: {error}\n")
        return _FAILED
    return 0


def _folder(arguments: list[str]) -> str:
    return arguments[arguments.index("-C") + 1] if "-C" in arguments[:-1] else "/"


def _absolute(path: str) -> str:
    return posixpath.normpath("/" + path.lstrip("/"))


def _inside(name: str, folder: str) -> bool:
    return name.startswith(folder.rstrip("/") + "/")


class _Sink(io.RawIOBase):
    """The output of a process, as `tarfile` wants a file."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._output = process.stdout

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return self._output.write(bytes(data))  # type: ignore[call-overload]
