# SPDX-License-Identifier: Apache-2.0
"""`controllers run` as a user meets it: a process, its output, signals and exit status."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from kit.processes.commands import run_command
from kit.processes.processes import read_until, running
from kit.processes.servers import Serve

from controllers.command import cli

pytestmark = pytest.mark.ends

NODE_TTL = ["--controllers=node-ttl"]
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d"}}]
users: [{name: u, user: {token: abc}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "controllers", "run", *arguments]


def wait_until_gone(pid: int) -> None:
    """Wait for a process that is no child of ours; the test's own timeout bounds the wait."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            select.select([descriptor], [], [])
        finally:
            os.close(descriptor)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
def test_120_nodes_cross_the_boundary_and_a_signal_ends_everything_well(
    number: signal.Signals, where: list[str]
) -> None:
    options = [*where, "--allow-fake-nodes"] if where else ["--embedded"]
    with running(command(*options, *NODE_TTL, "--hollow-nodes", "120")) as process:
        server = None if where else int(read_until(process, r"server is ready pid=(\d+)")[1])
        read_until(process, r"crossed a size boundary nodes=101 ttl=15 was=0")
        # If others use the cluster as well, its nodes are not counted.
        read_until(process, r"hollow nodes registered .*nodes=120" if where else r" nodes=120 .*ttl_15=120 ")

        process.send_signal(number)
        _, rest = process.communicate()

    assert process.returncode == 0
    assert "Traceback" not in rest
    assert rest.splitlines()[-1].endswith("stopped")
    if server is not None:
        wait_until_gone(server)


def test_a_run_ends_by_itself_after_its_duration(where: list[str]) -> None:
    outcome = subprocess.run(
        command(*where, *NODE_TTL, "--duration", "0.5"), capture_output=True, text=True, check=False
    )

    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout == ""
    assert "Traceback" not in outcome.stderr


def test_with_leader_election_controllers_start_with_the_lease_and_give_it_back(where: list[str]) -> None:
    outcome = subprocess.run(
        command(*where, *NODE_TTL, "--leader-elect", "--duration", "0.5"),
        capture_output=True,
        text=True,
        check=False,
    )

    told = [line.split(" ", 1)[1] for line in outcome.stderr.splitlines()]
    acts = ("became leader", "controller started", "released the lease", "stopped")
    assert [act for line in told for act in acts if act in line] == [*acts]
    assert outcome.returncode == 0


@pytest.mark.embedded("the command starts a server of its own")
def test_a_killed_run_leaves_no_server_behind() -> None:
    with running(command("--embedded")) as process:
        server = int(read_until(process, r"server is ready pid=(\d+)")[1])
        read_until(process, "controller started")

        process.kill()

        wait_until_gone(server)


@pytest.mark.embedded("the command starts a server of its own")
def test_a_server_that_dies_is_named_and_the_run_still_stops_well() -> None:
    with running(command("--embedded", "--hollow-nodes", "3")) as process:
        server = int(read_until(process, r"server is ready pid=(\d+)")[1])
        read_until(process, "hollow nodes registered")

        os.kill(server, signal.SIGKILL)
        read_until(process, "WARNING .*no answer|WARNING .*cut|WARNING .*refused")
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()

    assert process.returncode == 0
    assert "Traceback" not in rest


@pytest.mark.embedded("the command starts a server of its own")
def test_a_silent_server_does_not_keep_it_from_stopping() -> None:
    with running(command("--embedded", "--hollow-nodes", "2000")) as process:
        server = int(read_until(process, r"server is ready pid=(\d+)")[1])
        read_until(process, r" nodes=\d+ ")

        os.kill(server, signal.SIGSTOP)  # with a registration in hand, and most likely annotations
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()

    assert process.returncode == 0
    assert "timed out" not in rest
    wait_until_gone(server)


def test_a_server_that_is_silent_from_the_beginning_does_not_either(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        (tmp_path / "silent").write_text(KUBECONFIG % silent.getsockname()[1])
        with running(command(f"--kubeconfig={tmp_path}/silent", "--controllers=node-ttl")) as process:
            connection, _ = silent.accept()

            process.send_signal(signal.SIGINT)
            _, rest = process.communicate()
            connection.close()

    assert process.returncode == 0
    assert "WARNING" not in rest
    assert rest.endswith("stopped\n")


@pytest.mark.embedded("the command starts a server of its own")
def test_it_works_and_stops_well_with_standard_error_closed_or_never_read() -> None:
    reader, writer = os.pipe()
    arguments = command("--embedded", "--hollow-nodes", "500", "--duration", "3", "-v")

    closed = subprocess.Popen(arguments, preexec_fn=lambda: os.close(2))
    unread = subprocess.Popen(arguments, stderr=writer)

    assert (closed.wait(), unread.wait()) == (0, 0)
    os.close(reader)
    os.close(writer)


@pytest.mark.embedded("the command starts a server of its own")
def test_json_lines_are_one_object_each() -> None:
    arguments = command("--duration", "0.5", "--log-format", "json")

    outcome = subprocess.run(arguments, capture_output=True, text=True, check=False)

    messages = [json.loads(line)["message"] for line in outcome.stderr.splitlines()]
    assert messages[0] == "embedded API server is ready"
    assert messages[-1] == "stopped"


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        pytest.param(["--controllers=node-tlt"], 2, "did you mean 'node-ttl'", id="unknown controller"),
        pytest.param(["--nope"], 2, "no such option", id="unknown option"),
        pytest.param(["--duration", "soon"], 2, "not a valid float", id="duration that is no number"),
        pytest.param(["--kubeconfig={tmp}/none", "--controllers=*"], 2, "none does not exist", id="no kubeconfig"),
        pytest.param(
            ["--kubeconfig={tmp}/broken", "--controllers=*"], 2, "is not a kubeconfig", id="broken kubeconfig"
        ),
        pytest.param(
            ["--kubeconfig={tmp}/refusing", "--context=x", "--controllers=*"], 2, "context 'x'", id="unknown context"
        ),
        pytest.param(
            ["--kubeconfig={tmp}/refusing", "--controllers=*"], 1, "cannot reach the API server", id="refused"
        ),
    ],
)
def test_bad_input_is_one_line_and_a_status(
    arguments: list[str], status: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    (tmp_path / "broken").write_text("clusters: [")
    (tmp_path / "refusing").write_text(KUBECONFIG % port)
    filled = [argument.replace("{tmp}", str(tmp_path)) for argument in arguments]

    outcome = run_command(lambda: cli.main(["run", *filled]), capsys)

    assert outcome.status == status
    assert outcome.stdout == ""
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr
    assert says in outcome.stderr


def test_credentials_that_are_refused_are_named_with_the_remedy(serve: Serve, tmp_path: Path) -> None:
    with serve() as kubeconfig:
        document = yaml.safe_load(kubeconfig.read_text())
        for user in document["users"]:
            user["user"] = {"token": "strange"}
        (tmp_path / "strange").write_text(yaml.safe_dump(document))

        outcome = subprocess.run(
            command(f"--kubeconfig={tmp_path}/strange", "--controllers=*"), capture_output=True, text=True, check=False
        )

    assert outcome.returncode == 1
    assert re.fullmatch(
        r"controllers: the API server at \S+:\d+ refuses the request \(Unauthorized\): check the credentials .*\n",
        outcome.stderr,
    )
