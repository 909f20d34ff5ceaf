# SPDX-License-Identifier: Apache-2.0
"""The ready program that `kubectl cp` calls."""

from __future__ import annotations

import io
import tarfile

import pytest
from kit.apiserver.talking import CLOSE_STDIN, Talking

from embedded_apiserver.programs import tar


@pytest.fixture
def files(talking: Talking) -> dict[str, bytes]:
    files = {"/etc/a": b"one", "/etc/sub/b": b"two" * 9000, "/var/c": b""}
    talking.server.programs["c"] = tar(files, lambda process: 42 if process.args == ("psql",) else 127)
    return files


def test_a_folder_is_packed_with_all_that_is_in_it(talking: Talking, files: dict[str, bytes]) -> None:
    said = talking.result("tar", "cf", "-", "/etc")

    with tarfile.open(fileobj=io.BytesIO(said.stdout)) as archive:
        found = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}  # type: ignore[union-attr]
    assert found == {"etc/a": files["/etc/a"], "etc/sub/b": files["/etc/sub/b"]}
    assert said.code == 0


def test_a_path_that_is_not_there_fails(talking: Talking, files: dict[str, bytes]) -> None:
    said = talking.result("tar", "cf", "-", "/etcetera")

    assert (said.code, said.stderr) == (2, b"tar: /etcetera: Cannot stat: No such file or directory\n")


def test_an_archive_is_unpacked_into_a_folder(talking: Talking, files: dict[str, bytes]) -> None:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name in ("d", "../../up"):
            entry = tarfile.TarInfo(name)
            entry.size = 3
            archive.addfile(entry, io.BytesIO(b"new"))
    stream = talking.exec("tar", "-xmf", "-", "-C", "/opt")

    talking.send(stream, b"\0" + sink.getvalue(), CLOSE_STDIN)

    assert talking.hear(stream).code == 0
    assert (files["/opt/d"], files["/up"]) == (b"new", b"new")


def test_bytes_that_are_no_archive_fail(talking: Talking, files: dict[str, bytes]) -> None:
    stream = talking.exec("tar", "xf", "-")

    talking.send(stream, b"\0" + b"no archive" * 100, CLOSE_STDIN)

    assert talking.hear(stream).code == 2


@pytest.mark.parametrize(("command", "code"), [(("test", "-d", "/etc"), 0), (("test", "-d", "/etc/a"), 1)])
def test_folders_are_those_that_have_files(
    talking: Talking, files: dict[str, bytes], command: tuple[str, ...], code: int
) -> None:
    assert talking.result(*command).code == code


def test_other_commands_are_those_of_the_other_program(talking: Talking, files: dict[str, bytes]) -> None:
    assert talking.result("psql").code == 42
    talking.server.programs["c"] = tar(files)
    assert talking.result("psql").code == 127
