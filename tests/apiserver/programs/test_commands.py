# SPDX-License-Identifier: Apache-2.0
"""Commands in containers: exec and attach, over v5 and v4, with programs of a test."""

from __future__ import annotations

import json

import pytest
from kit.apiserver.asking import PODS
from kit.apiserver.talking import CLOSE_STDIN, V4, V5, Talking

from apimachinery.errors import UsageError
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.programs import Killed, Process, Program


def test_a_command_gets_its_arguments_and_tells_its_output_and_its_exit_status(talking: Talking) -> None:
    def run(process: Process) -> int:
        process.stdout.write(" ".join(process.args))
        process.stderr.write("careful\n")
        return 3

    talking.server.programs["c"] = run

    said = talking.result("psql", "-c", "select 1")

    assert (said.stdout, said.stderr, said.code) == (b"psql -c select 1", b"careful\n", 3)
    assert said.outcome == {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: command terminated with exit code 3",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }


@pytest.mark.parametrize("result", [None, 0])
def test_a_command_without_a_status_has_succeeded(talking: Talking, result: int | None) -> None:
    talking.server.programs["c"] = lambda process: result

    assert talking.result("true").outcome == {"metadata": {}, "status": "Success"}


def test_input_ends_when_the_client_closes_its_channel(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: process.stdout.write(process.stdin.read().upper()) and 0
    stream = talking.exec("cat")

    talking.send(stream, b"\0one ", b"\0two", CLOSE_STDIN)

    assert talking.hear(stream).stdout == b"ONE TWO"


def test_input_of_v4_cannot_end_alone(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: process.stdout.write(process.stdin.readline()) and 0
    stream = talking.exec("head", protocol=V4)

    talking.send(stream, CLOSE_STDIN, b"\0line\n")

    assert talking.hear(stream).stdout == b"line\n"


def test_input_that_the_client_does_not_offer_has_ended(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: len(process.stdin.read())

    assert talking.result("cat", streams=("stdout",)).code == 0


@pytest.mark.parametrize("protocol", ["channel.k8s.io", ""])
def test_before_v4_the_outcome_is_a_text_and_only_that_of_a_failure_is_sent(talking: Talking, protocol: str) -> None:
    talking.server.programs["c"] = lambda process: int(process.args[0])

    assert talking.result("0", protocol=protocol).channels == {1: b""}
    assert talking.result("3", protocol=protocol).channels == {
        1: b"",
        3: b"command terminated with non-zero exit code: command terminated with exit code 3",
    }


def test_output_that_the_client_does_not_want_is_dropped(talking: Talking) -> None:
    def run(process: Process) -> None:
        process.stdout.write("out")
        process.stderr.write("err")

    talking.server.programs["c"] = run

    assert talking.result("x", streams=("stderr",)).channels.keys() == {2, 3}


def test_a_command_waits_in_virtual_time(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: process.wait(250)
    began = talking.host.monotonic()

    assert talking.result("sleep", "250").code == 0
    assert talking.host.monotonic() - began == pytest.approx(250, abs=0.01)


def test_a_megabyte_passes_in_both_directions(talking: Talking) -> None:
    def run(process: Process) -> None:
        while data := process.stdin.read(65536):
            process.stdout.write(data)

    talking.server.programs["c"] = run
    stream = talking.exec("cat")
    text = bytes(range(256)) * 4096

    def feed() -> None:
        talking.send(stream, *(b"\0" + text[at : at + 50_000] for at in range(0, len(text), 50_000)), CLOSE_STDIN)

    talking.host.spawn("feed", feed)

    assert talking.hear(stream).stdout == text


def test_a_program_is_found_by_its_image_with_and_without_a_tag(talking: Talking) -> None:
    container = {"name": "db", "image": "registry.example:5000/pg/postgres:17@sha256:0"}
    talking.run("q", containers=[container])
    programs = talking.server.programs

    for status, name in enumerate(("registry.example:5000/pg/postgres", container["image"], "db"), 1):
        programs[name] = lambda process, status=status: status
        assert talking.result("x", pod="q").code == status


@pytest.mark.parametrize("part", ["exec", "attach"])
def test_without_a_kubelet_v5_is_answered_by_an_error_on_its_channel_as_by_a_real_server(
    talking: Talking, part: str
) -> None:
    """A kube-apiserver of 1.36.2 sent these messages, with the text of its own connection after `error sending`."""
    talking.asking.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"addresses": [{"address": "a"}]}})
    why = "error sending request: no kubelet can be reached on node n"

    said = talking.hear(talking.open(part, ("command", "x"), streams=("stdout",)))

    assert said.channels.keys() == {1, 3}
    assert said.outcome == {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {why}",
        "reason": "InternalError",
        "details": {"causes": [{"message": why}]},
        "code": 500,
    }


@pytest.mark.parametrize(("part", "protocol"), [("exec", V4), ("exec", ""), ("portforward", V5), ("portforward", V4)])
def test_without_a_kubelet_other_connections_are_refused(talking: Talking, part: str, protocol: str) -> None:
    talking.asking.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"addresses": [{"address": "a"}]}})

    answer = talking.open(part, ("command", "x"), ("ports", "80"), protocol=protocol, streams=("stdout",)).response

    assert (answer.status, json.loads(answer.body)["message"]) == (
        500,
        "error dialing backend: no kubelet can be reached on node n",
    )


def test_a_container_that_does_not_run_is_not_found(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: 0
    talking.asking.patch(f"{PODS}/p/status", {"status": {"phase": "Pending"}})

    answer = talking.exec("x").response

    assert json.loads(answer.body)["message"] == 'unable to upgrade connection: container not found ("c")'


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"streams": ()}, "you must specify at least 1 of stdin, stdout, stderr"),
        ({"protocol": "v1"}, "requested protocol(s) are not supported: ['v1']; supports ['v5."),
    ],
)
def test_a_request_that_cannot_be_served_is_refused(talking: Talking, options: dict[str, object], message: str) -> None:
    talking.server.programs["c"] = lambda process: 0

    answer = talking.exec("x", **options).response

    assert (answer.status, json.loads(answer.body)["message"][: len(message)]) == (400, message)


def test_a_command_is_killed_with_its_pod(talking: Talking) -> None:
    ended: list[str] = []

    def run(process: Process) -> None:
        try:
            process.wait(1e9)
        except Killed:
            ended.append("killed")
            raise

    talking.server.programs["c"] = run
    stream = talking.exec("sleep")

    talking.asking("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})

    assert (talking.hear(stream).code, ended) == (137, ["killed"])


def test_a_command_is_killed_when_its_pod_has_ended(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: process.wait(1e9)
    stream = talking.exec("sleep")

    talking.asking.patch(f"{PODS}/p/status", {"status": {"phase": "Failed"}})

    assert talking.hear(stream).code == 137


def test_a_client_that_leaves_ends_the_input_and_not_the_command(sim: Simulation, talking: Talking) -> None:
    ended: list[bytes] = []

    def run(process: Process) -> None:
        process.stdout.write("begun")
        rest = process.stdin.read()
        process.wait(10)
        process.stdout.write("x" * 1_000_000)
        ended.append(rest)

    talking.server.programs["c"] = run
    stream = talking.exec("long")
    talking.send(stream, b"\0half")
    talking.hear(stream, until=b"begun")

    stream.close()
    sim.advance(20)

    assert ended == [b"half"]


def test_closing_the_server_ends_its_commands(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: process.wait(1e9)
    stream = talking.exec("sleep")

    talking.server.close()

    assert talking.hear(stream).code == 137


def test_a_bug_of_a_program_is_told_as_an_error_of_the_command(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: "done"  # type: ignore[assignment,return-value]

    said = talking.result("x")

    assert (said.code, said.stderr) == (1, b"TypeError: a program returns its exit status, not 'done'\n")


def test_a_program_that_would_have_to_be_awaited_is_refused_where_it_is_given(talking: Talking) -> None:
    async def run(process: Process) -> int:
        return 0

    with pytest.raises(UsageError, match="async def"):
        talking.server.programs["c"] = run  # type: ignore[assignment]
    with pytest.raises(UsageError, match="async def"):
        Program(lambda process: 0, ports={80: run})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match="give a function"):
        talking.server.programs["c"] = 5  # type: ignore[assignment]


def test_an_attached_client_gets_the_command_of_the_container(talking: Talking) -> None:
    talking.run("q", containers=[{"name": "c", "image": "i", "command": ["serve"], "args": ["-v"]}])
    talking.server.programs["c"] = lambda process: process.stdout.write(" ".join(process.args)) and process.is_attached

    said = talking.hear(talking.open("attach", pod="q"))

    assert (said.stdout, said.code) == (b"serve -v", 1)


def test_a_program_can_have_a_function_for_attached_clients(talking: Talking) -> None:
    talking.server.programs["c"] = Program(lambda process: 1, main=lambda process: 2)

    assert talking.hear(talking.open("attach")).code == 2


def test_a_terminal_echoes_and_edits_lines_and_joins_both_outputs(talking: Talking) -> None:
    def run(process: Process) -> int:
        line = process.stdin.readline()
        process.stderr.write(f"{line.decode().strip()} {process.size}\n")
        return process.tty

    talking.server.programs["c"] = run
    stream = talking.exec("sh", streams=("stdin", "stdout", "tty"))

    talking.send(stream, b'\x04{"Width": 80, "Height": 24}', b"\0lx", b"\0\x7fs\r")

    said = talking.hear(stream)
    assert (said.stdout, said.stderr, said.code) == (b"lx\b \bs\r\nls (80, 24)\r\n", b"", 1)


def test_an_interrupt_of_a_terminal_ends_the_command(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: process.wait(1e9)
    stream = talking.exec("sleep", streams=("stdin", "stdout", "tty"))

    talking.send(stream, b"\0\x03")

    said = talking.hear(stream)
    assert (said.stdout, said.code) == (b"^C\r\n", 130)


def test_the_environment_has_values_fields_and_keys_of_config(talking: Talking) -> None:
    asking = talking.asking
    asking.ok("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}, "stringData": {"k": "secret"}})
    asking.ok("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "m"}, "data": {"A": "1"}})
    env = [
        {"name": "PLAIN", "value": "x"},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "NONE", "valueFrom": {"configMapKeyRef": {"name": "gone", "key": "k", "optional": True}}},
    ]
    container = {"name": "c", "image": "i", "env": env, "envFrom": [{"prefix": "P_", "configMapRef": {"name": "m"}}]}
    talking.run("q", containers=[container])
    talking.server.programs["c"] = lambda process: process.stdout.write(json.dumps(dict(process.env))) and 0

    assert json.loads(talking.result("env", pod="q").stdout) == {
        "HOSTNAME": "q",
        "P_A": "1",
        "PLAIN": "x",
        "NAME": "q",
        "SECRET": "secret",
    }
