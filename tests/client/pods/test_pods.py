# SPDX-License-Identifier: Apache-2.0
"""Logs, commands, streams and ports of pods, by each transport: in process, over a simulated network, and over TLS."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from kit.client.entered import KEY, Entered

from apimachinery.errors import BadRequest, ConnectionLost, NotFound, StreamIdle
from apimachinery.objects import ObjectKey
from controller_runtime.pods import CommandFailed, Output, OutputTooLong
from embedded_apiserver.programs import Process, Program


def test_a_command_returns_its_exit_status_and_its_output(entered: Entered) -> None:
    def run(process: Process) -> int:
        process.stdout.write(" ".join(process.args))
        process.stderr.write("careful")
        return 3

    entered.programs["c"] = run

    result = entered.client.exec(KEY, ["psql", "-c", "select 1"])

    assert (result.exit_code, result.stdout, result.stderr) == (3, b"psql -c select 1", b"careful")
    with pytest.raises(CommandFailed, match=r"psql -c select 1: exit status 3: careful"):
        result.check()


def test_a_command_gets_its_input_and_its_end_while_it_writes(entered: Entered) -> None:
    def run(process: Process) -> None:
        while data := process.stdin.read(50_000):
            process.stdout.write(data.upper())

    entered.programs["c"] = run

    result = entered.client.exec(KEY, ["cat"], stdin="text " * 200_000, most_bytes=1_000_000)

    assert result.check().stdout == b"TEXT " * 200_000


def test_a_command_may_end_before_it_has_read_its_input(entered: Entered) -> None:
    entered.programs["c"] = lambda process: len(process.stdin.readline())

    assert entered.client.exec(KEY, ["head"], stdin=b"x\n" + b"y" * 2_000_000).exit_code == 2


def test_more_output_than_is_allowed_ends_the_connection(entered: Entered) -> None:
    def run(process: Process) -> None:
        process.stdout.write("x" * 200_000)
        process.wait(1e6)

    entered.programs["c"] = run

    with pytest.raises(OutputTooLong, match="more than 100000 bytes of output; the command may still run"):
        entered.client.exec(KEY, ["yes"], most_bytes=100_000)


def test_a_command_that_does_not_end_in_time_is_an_error(entered: Entered) -> None:
    entered.programs["c"] = lambda process: process.wait(1e6)

    with pytest.raises(ConnectionLost, match=r"not over within 0.2 s"):
        entered.client.exec(KEY, ["sleep"], within=0.2)


def test_a_command_in_a_pod_that_is_gone_is_refused(entered: Entered) -> None:
    with pytest.raises(NotFound):
        entered.client.exec(ObjectKey("gone", "default"), ["x"])


def test_the_container_is_named_if_there_are_several(entered: Entered) -> None:
    entered.programs["c"] = lambda process: 0

    assert entered.client.exec(KEY, ["x"], container="c").exit_code == 0
    with pytest.raises(BadRequest, match="container d is not valid for pod p"):
        entered.client.exec(KEY, ["x"], container="d")


def test_a_command_is_killed_with_its_pod(entered: Entered) -> None:
    def run(process: Process) -> None:
        process.stdout.write("begun")
        process.wait(1e6)

    entered.programs["c"] = run
    with entered.client.open_exec(KEY, ["sleep"]) as session:
        assert session.read() == Output("stdout", b"begun")
        entered.end()

        assert (session.read(), session.exit_code) == (None, 137)


def test_a_session_reads_and_writes_by_turns(entered: Entered) -> None:
    def run(process: Process) -> int:
        for line in process.stdin:
            process.stdout.write(line[::-1].strip())
        return 7

    entered.programs["c"] = run
    with entered.client.open_exec(KEY, ["rev"]) as session:
        session.write("abc\n")
        assert session.read() == Output("stdout", b"cba")
        assert session.read(within=0.05) is None
        assert session.exit_code is None
        session.write(b"de\n")
        session.close_stdin()

        assert ([*session], session.exit_code) == ([Output("stdout", b"ed")], 7)


def test_a_session_has_a_terminal_with_a_size(entered: Entered) -> None:
    def run(process: Process) -> None:
        process.stdin.readline()
        process.stderr.write(f"{process.size}")

    entered.programs["c"] = run
    with entered.client.open_exec(KEY, ["sh"], tty=True) as session:
        session.resize(80, 24)
        session.write("\r")

        assert b"".join(output.data for output in session) == b"\r\n(80, 24)"


def test_a_client_is_attached_to_the_process_of_the_container(entered: Entered) -> None:
    entered.programs["c"] = Program(lambda process: 1, main=lambda process: process.stdout.write("main") and 0)

    with entered.client.attach(KEY) as session:
        assert [*session] == [Output("stdout", b"main")]
        assert session.exit_code == 0


def test_a_closed_session_neither_reads_nor_writes(entered: Entered) -> None:
    entered.programs["c"] = lambda process: process.wait(1e6)
    session = entered.client.open_exec(KEY, ["sleep"])
    session.close()

    with pytest.raises(ConnectionLost):
        session.read()
    with pytest.raises(ConnectionLost):
        session.write("x")


@pytest.mark.parametrize("command", ["psql", []])
def test_a_command_that_is_no_list_of_arguments_is_refused(entered: Entered, command: str | list[str]) -> None:
    with pytest.raises(ValueError, match="must be a list of arguments"):
        entered.client.exec(KEY, command)


def test_a_pod_is_named_with_its_namespace(entered: Entered) -> None:
    with pytest.raises(ValueError, match="has no namespace"):
        entered.client.exec(ObjectKey("p"), ["x"])


def test_a_log_is_read_line_by_line_with_its_empty_lines(entered: Entered) -> None:
    entered.programs.log("p", "one\n\ntwo\n\nlast")

    assert [*entered.client.logs(KEY)] == ["one", "", "two", "", "last"]
    assert [*entered.client.logs(KEY, container="c", tail=1)] == ["last"]
    assert [*entered.client.logs(KEY, most_bytes=6)] == ["one", "", "t"]
    assert [*entered.client.logs(KEY, since=datetime.now(UTC) + timedelta(days=9000))] == []
    assert len([*entered.client.logs(KEY, since=60.0)]) == 5


def test_a_log_is_followed_until_the_pod_is_gone(entered: Entered) -> None:
    entered.programs.log("p", "one")
    with entered.client.logs(KEY, follow=True) as lines:
        assert next(lines) == "one"
        entered.programs.log("p", "\nthree")
        assert [next(lines), next(lines)] == ["", "three"]
        entered.end()

        assert [*lines] == []


def test_a_followed_log_that_is_not_over_in_time_is_an_error(entered: Entered) -> None:
    entered.programs.log("p", "one")
    lines = entered.client.logs(KEY, follow=True, within=0.2)

    assert next(lines) == "one"
    with pytest.raises(StreamIdle, match="not over in time"):
        next(lines)


def test_the_log_of_a_pod_that_is_gone_is_refused(entered: Entered) -> None:
    with pytest.raises(NotFound):
        entered.client.logs(ObjectKey("gone", "default"))
    with pytest.raises(ValueError, match="no time zone"):
        entered.client.logs(KEY, since=datetime(2026, 1, 1))


def test_a_port_is_a_connection_in_both_directions(entered: Entered) -> None:
    def echo(process: Process) -> None:
        while line := process.stdin.readline():
            process.stdout.write(f"{process.port} ".encode() + line)
            if line == b"bye\n":
                return

    entered.programs["c"] = Program(lambda process: 0, ports={5432: echo})
    with entered.client.port_forward(KEY, 5432).connect() as connection:
        connection.sendall(b"hello\n")
        assert connection.recv(5) == b"5432 "
        assert connection.recv(100) == b"hello\n"
        connection.sendall(b"bye\n")

        assert (connection.recv(100), connection.recv(100)) == (b"5432 bye\n", b"")


def test_a_port_that_nothing_listens_on_is_an_error(entered: Entered) -> None:
    entered.programs["c"] = lambda process: 0

    with (
        entered.client.port_forward(KEY, 80).connect() as connection,
        pytest.raises(ConnectionLost, match="failed to connect to localhost:80: connection refused"),
    ):
        connection.recv(1)
