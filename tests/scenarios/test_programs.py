# SPDX-License-Identifier: Apache-2.0
"""A program of a user's own as a process: its flags, its signals, its reload, its plan, its live view."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.processes.commands import run_command
from kit.processes.processes import read_until, running
from kit.processes.programs import clean_environment, client_of, module_command, write_program

import controller_runtime.__main__
from controller_runtime import Client, ObjectKey, SystemHost
from controller_runtime.resources import LEASES, NODES
from controller_runtime.testing import APIServerProcess

pytestmark = [pytest.mark.ends, pytest.mark.embedded("the programs start servers of their own")]

LEASE = ObjectKey("greeter", "default")


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with APIServerProcess(SystemHost()) as server:
        yield server.kubeconfig


def completed(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env={**clean_environment(), **environment}, capture_output=True, text=True, check=False
    )


def create_node(client: Client, name: str) -> None:
    client.create(NODES, {"metadata": {"name": name}})


def holder(client: Client) -> str:
    lease: dict[str, dict[str, str]] = client.get(LEASES, LEASE, dict)
    return lease["spec"].get("holderIdentity") or ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
def test_a_program_gives_its_lease_back_at_a_signal(tmp_path: Path, kubeconfig: Path, number: signal.Signals) -> None:
    command = [sys.executable, str(write_program(tmp_path)), "--kubeconfig", str(kubeconfig), "--leader-elect"]
    with (
        client_of(kubeconfig) as client,
        running(command, cwd=tmp_path, env=clean_environment()) as process,
    ):
        read_until(process, "controller started")
        held = holder(client)

        process.send_signal(number)
        _, rest = process.communicate()

        assert held
        assert holder(client) == ""
    assert process.returncode == 0
    assert "Traceback" not in rest
    assert rest.endswith("stopped\n")


def test_flags_may_come_from_the_environment_and_the_command_line_comes_first(tmp_path: Path) -> None:
    write_program(tmp_path)

    outcome = completed(
        module_command("greeter", "--duration", "0.2"), tmp_path,
        CONTROLLER_DURATION="3600", CONTROLLER_LEADER_ELECT="true", CONTROLLER_LOG_FORMAT="json",
        CONTROLLER_LEADER_ELECTION_ID="mine",
    )  # fmt: skip

    lines = [json.loads(line) for line in outcome.stderr.splitlines()]
    assert outcome.returncode == 0
    assert lines[0]["because"] == "no option names a cluster"
    assert "default/mine" in [line.get("lease") for line in lines]
    assert lines[-1]["message"] == "stopped"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a program that is run in this process, and the working directory; its modules are forgotten."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("CONTROLLER_", "KUBE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = {*sys.modules}

    yield tmp_path

    for name in {"greeter", "words", "adds", "unguarded"} - before:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("options", "environment", "status", "says"),
    [
        pytest.param(["nothere:setup"], {}, 2, "there is no module nothere", id="no module"),
        pytest.param(["no/such.py"], {}, 2, "there is no file no/such.py", id="no file"),
        pytest.param(["words"], {}, 2, "words has no 'setup': define", id="no setup"),
        pytest.param(["greeter:setpu"], {}, 2, "did you mean 'setup'", id="misspelt"),
        pytest.param(["words:WORD"], {}, 2, "words:WORD is a str, not a function", id="not callable"),
        pytest.param(["greeter.py:a b"], {}, 2, "greeter.py has no 'a b'", id="no name"),
        pytest.param(["a b"], {}, 2, "'a b' names no function", id="no module's name"),
        pytest.param(["greeter", "--nope"], {}, 2, "no such option", id="no option"),
        pytest.param(["greeter"], {"CONTROLLER_DURATION": "x"}, 2, "(from CONTROLLER_DURATION)", id="environment"),
        pytest.param(["greeter", "--plan"], {}, 2, "--plan needs a cluster that is in use", id="nothing to plan"),
        pytest.param(["greeter", "--output=json"], {}, 2, "--output and --allow-outside are about", id="no plan"),
        pytest.param(
            ["adds:returns", "--kubeconfig={server}"],
            {},
            2,
            "returns returned a Controller, not None",
            id="adds nothing",
        ),
        pytest.param(["adds:waits", "--kubeconfig={server}"], {}, 2, "waits is an `async def`", id="coroutine"),
        pytest.param(["adds:needs", "--kubeconfig={server}"], {}, 1, "adds:needs", id="another signature"),
        pytest.param(["unguarded"], {}, 2, "calls run when it is imported", id="no main guard"),
    ],
)
def test_wrong_use_is_one_line_and_a_status(
    folder: Path,
    kubeconfig: Path,
    options: list[str],
    environment: dict[str, str],
    status: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_program(folder)
    (folder / "unguarded.py").write_text("from controller_runtime import run\nrun(lambda manager: None)\n")
    (folder / "adds.py").write_text(
        "from controller_runtime import Controller, Reconciler\n"
        "class Idle(Reconciler):\n    def reconcile(self, request): ...\n"
        "def returns(manager): return Controller('c', Idle())\n"
        "async def waits(manager): pass\n"
        "def needs(manager, more): pass\n"
    )
    monkeypatch.setattr(
        sys, "argv", ["controller_runtime", "run", *(each.format(server=kubeconfig) for each in options)]
    )
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    outcome = run_command(controller_runtime.__main__.main, capsys)

    said = outcome.stderr.splitlines()
    assert outcome.status == status, outcome.stderr
    assert outcome.stdout == ""
    if status == 2:
        assert len(said) == 1, said
        assert says in said[0]


@pytest.mark.parametrize("broken", ["import", "setup"])
def test_an_error_of_the_program_is_one_line_and_its_own_traceback(tmp_path: Path, broken: str) -> None:
    where = "" if broken == "import" else "def setup(manager):\n    "
    (tmp_path / "broken.py").write_text(f"{where}{{}}['key']\n")

    outcome = completed(module_command("broken.py"), tmp_path)

    assert outcome.returncode == 1
    first = next(line for line in outcome.stderr.splitlines() if line.startswith("controller_runtime: "))
    assert first.endswith(("broken.py: KeyError: 'key'", "setup failed: KeyError: 'key'"))
    frames = re.findall(r'File "([^"]+)"', outcome.stderr)
    assert frames == [str(tmp_path / "broken.py")]


def test_a_plan_tells_what_a_program_would_write_and_takes_no_lease(
    folder: Path, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The options are those with which the program runs, so that its own command line is planned."""
    write_program(folder, "planned")
    options = ["run", "greeter", "--kubeconfig", str(kubeconfig), "--leader-elect", "--leader-election-id", "unused"]
    monkeypatch.setattr(sys, "argv", ["controller_runtime", *options, "--plan"])
    monkeypatch.setenv("CONTROLLER_OUTPUT", "json")
    with client_of(kubeconfig) as client:
        create_node(client, "calm")
        before = client.get(NODES, ObjectKey("calm"), dict)
        leases = client.list(LEASES, view=dict)

        outcome = run_command(controller_runtime.__main__.main, capsys)

        assert client.get(NODES, ObjectKey("calm"), dict) == before
        assert [lease["metadata"]["name"] for lease in client.list(LEASES, view=dict)] == [
            lease["metadata"]["name"] for lease in leases
        ]
    assert outcome.status == 3, outcome.stderr
    [change] = [each for each in json.loads(outcome.stdout)["changes"] if each["name"] == "calm"]
    assert change["patch"] == {"metadata": {"labels": {"greeted": "planned"}}}


def test_a_namespace_bounds_what_a_program_reads(tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_text(
        "from controller_runtime.resources import LEASES, NODES\n"
        "def setup(manager):\n"
        "    print([str(manager.informer(kind)) for kind in (LEASES, NODES)])\n"
    )

    outcome = completed(module_command("wide", "-n", "here", "--duration", "0.1"), tmp_path)

    assert outcome.stdout == "['leases.coordination.k8s.io in here', 'nodes']\n"


@pytest.mark.parametrize("how", ["a script", "a module", "a file"])
def test_a_saved_file_is_reloaded_and_the_server_and_its_objects_stay(tmp_path: Path, how: str) -> None:
    script = write_program(tmp_path)
    commands = {
        "a script": [sys.executable, str(script), "--reload"],
        "a module": module_command("greeter", "--reload"),
        "a file": module_command("./greeter.py:setup", "--reload"),
    }
    with running(commands[how], cwd=tmp_path, env=clean_environment()) as process:
        server = read_until(process, r"server is ready pid=\d+ kubeconfig=(\S+)")[1]
        read_until(process, "controller started")
        with client_of(server) as client:
            create_node(client, "one")
            read_until(process, "one says hello")

            (tmp_path / "words.py").write_text("WORD = 'salve'\n")  # as long as before
            read_until(process, "reloading changed=words.py")
            read_until(process, "one says salve")
            (tmp_path / "words.py").write_text("WORD = 'world'\n")
            read_until(process, "one says world")

        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()

    assert process.returncode == 0, rest
    assert "Traceback" not in rest


def test_a_program_that_cannot_be_imported_again_goes_on_as_it_was(tmp_path: Path) -> None:
    script = write_program(tmp_path)
    with running([sys.executable, str(script), "--reload"], cwd=tmp_path, env=clean_environment()) as process:
        server = read_until(process, r"server is ready pid=\d+ kubeconfig=(\S+)")[1]
        read_until(process, "controller started")
        with client_of(server) as client:
            (tmp_path / "words.py").write_text("WORD = \n")
            read_until(process, "words.py changed, but the program goes on as it was: .*SyntaxError")
            create_node(client, "one")
            read_until(process, "one says hello")

            # A module that is new, and fails by itself.
            (tmp_path / "more.py").write_text("1 / 0\n")
            (tmp_path / "words.py").write_text("from more import WORD\n")
            read_until(process, "goes on as it was: .*ZeroDivisionError")
            (tmp_path / "more.py").write_text("WORD = 'more'\n")
            read_until(process, "one says more")

        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()

    assert process.returncode == 0, rest


def test_a_setup_that_fails_after_a_change_waits_for_the_next_one(tmp_path: Path) -> None:
    script = write_program(tmp_path)
    text = script.read_text()
    with running(module_command("greeter", "--reload"), cwd=tmp_path, env=clean_environment()) as process:
        read_until(process, "controller started")
        script.write_text(text.replace("def setup(manager: Manager) -> None:", "def setup(manager):\n    1 / 0"))
        read_until(process, "the program does not run until its next change: setup failed: ZeroDivisionError")

        script.write_text(text)
        read_until(process, "controller started")

        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate()

    assert process.returncode == 0, rest


def test_a_setup_that_cannot_be_imported_again_is_not_reloaded(tmp_path: Path) -> None:
    (tmp_path / "local.py").write_text("from controller_runtime import run\nrun(lambda manager: None)\n")

    outcome = completed([sys.executable, "local.py", "--reload"], tmp_path)

    assert outcome.returncode == 2
    assert outcome.stderr == "local: --reload needs a setup function at the top level of a module, to import it again\n"


def read_terminal(descriptor: int, pattern: str) -> str:
    """Read what a program draws until it matches; the test's own timeout bounds the wait."""
    drawn = ""
    while not re.search(pattern, drawn):
        drawn += os.read(descriptor, 65536).decode(errors="replace")
    return drawn


def test_on_a_terminal_a_program_shows_its_controllers_and_its_objects(tmp_path: Path) -> None:
    terminal, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    script = write_program(tmp_path)
    process = subprocess.Popen(
        [sys.executable, str(script)], cwd=tmp_path, env={**clean_environment(), "TERM": "xterm"}, stderr=side
    )
    os.close(side)
    try:
        drawn = read_terminal(terminal, r"kubeconfig=\S+")
        server = re.findall(r"kubeconfig=(\S+)", drawn)[-1]
        with client_of(server) as client:
            create_node(client, "one")
            status = {"conditions": [{"type": "Ready", "status": "False"}]}
            client.patch(NODES, ObjectKey("one"), {"status": status}, subresource="status")
        drawn = read_terminal(terminal, r"Node +1 +(\x1b\[\d+m)*Ready 0, not 1")
        assert "greeter on embedded API server" in drawn
        assert re.search(r"greet +\d+ +[1-9]", drawn + read_terminal(terminal, r"greet +\d+ +[1-9]"))
    finally:
        process.send_signal(signal.SIGINT)
        while True:  # what is left must be read, or the program would wait for room
            try:
                if not os.read(terminal, 65536):
                    break
            except OSError:  # the program has ended
                break
        assert process.wait() == 0
        os.close(terminal)
