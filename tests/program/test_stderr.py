# SPDX-License-Identifier: Apache-2.0
"""Standard error that is not read, or is closed, does not block the program."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Iterator

import attrs
import pytest
import pytest_mock

from controller_runtime.program.stderr import DroppingStream


@attrs.define
class Pipe:
    """A pipe, and a stream that writes to it without waiting for room."""

    reader: int
    writer: int
    stream: DroppingStream

    def read(self) -> bytes:
        return os.read(self.reader, 1 << 20)

    def fill(self) -> int:
        """Write until the pipe is full, and return the number of bytes in it."""
        lines = 0
        while select.select([], [self.writer], [], 0)[1]:
            self.stream.write("x" * (select.PIPE_BUF - 1) + "\n")
            lines += 1
        return lines * select.PIPE_BUF


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reader, writer = os.pipe()
    yield Pipe(reader, writer, DroppingStream(writer, timeout=0.0))
    for descriptor in (reader, writer):
        with contextlib.suppress(OSError):  # the test closed it
            os.close(descriptor)


def test_what_is_read_is_written(pipe: Pipe) -> None:
    pipe.stream.write("a line, æ\n")
    pipe.stream.write("\ud800\n")

    assert pipe.read() == "a line, æ\n\\ud800\n".encode()


def test_what_nobody_reads_is_dropped_line_by_line_and_later_lines_are_written(pipe: Pipe) -> None:
    inside = pipe.fill()

    assert pipe.stream.write("dropped\n") == len("dropped\n")
    assert pipe.read() == (b"x" * (select.PIPE_BUF - 1) + b"\n") * (inside // select.PIPE_BUF)
    pipe.stream.write("taken\n")

    assert pipe.read() == b"taken\n"


def test_only_the_first_line_that_nobody_reads_is_waited_for(pipe: Pipe, mocker: pytest_mock.MockerFixture) -> None:
    waits: list[float] = []
    poll = mocker.patch("controller_runtime.program.stderr.select.poll").return_value
    poll.poll.side_effect = lambda milliseconds: waits.append(milliseconds) or []
    stream = DroppingStream(pipe.writer, timeout=2.0)

    for _ in range(3):
        stream.write("dropped\n")

    assert waits == [2000.0, 0, 0]


def test_a_reader_that_is_gone_is_no_error(pipe: Pipe) -> None:
    os.close(pipe.reader)

    pipe.stream.write("to nobody\n")

    assert not pipe.stream.isatty()


def test_closed_descriptors_are_not_given_to_anything_else() -> None:
    program = (
        "import os, sys; from controller_runtime.program import stderr; stderr.install();"
        "sys.stderr.write('to nobody');"
        "sys.exit(os.open(os.devnull, os.O_RDONLY))"
    )

    def close_all() -> None:
        os.closerange(0, 3)

    process = subprocess.Popen([sys.executable, "-c", program], preexec_fn=close_all)

    assert process.wait() == 3
