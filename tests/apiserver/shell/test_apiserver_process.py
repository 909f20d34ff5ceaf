# SPDX-License-Identifier: Apache-2.0
"""`python -m embedded_apiserver` as a process: its start, its end, and refused options."""

from __future__ import annotations

import contextlib
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes.client import ApiClient, Configuration, CoreV1Api
from kubernetes.config import load_kube_config
from urllib3.exceptions import HTTPError

from embedded_apiserver.__main__ import main
from embedded_apiserver.storage.witness import locked

pytestmark = pytest.mark.ends

COMMAND = [sys.executable, "-m", "embedded_apiserver"]


class Server:
    """A server process that has printed its ready line."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "--exit-with-parent", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline().decode().split()

    @property
    def kubeconfig(self) -> Path:
        return Path(self.said[2].removeprefix("kubeconfig="))

    def end(self) -> tuple[int, bytes, bytes]:
        rest, errors = self.process.communicate(timeout=100)
        return self.process.returncode, rest, errors


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    with running.process:  # closes the pipes, so that it ends if it still runs
        pass


def run(*arguments: str) -> tuple[int, str]:
    """Return exit status and standard error of a server that is expected not to start."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, timeout=100, stdin=subprocess.DEVNULL)
    assert done.stdout == b""
    return done.returncode, done.stderr.decode()


def test_it_says_one_line_when_the_official_client_can_use_it(server: Server) -> None:
    configuration = Configuration()
    load_kube_config(str(server.kubeconfig), client_configuration=configuration)
    with ApiClient(configuration) as client:
        names = {namespace.metadata.name for namespace in CoreV1Api(client).list_namespace().items}

    assert (server.said[0], server.said[1]) == ("ready", f"url={configuration.host}")
    assert {"default", "kube-system"} <= names


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_well_and_its_files_are_gone(server: Server, number: signal.Signals) -> None:
    folder = server.kubeconfig.parent
    assert folder.stat().st_mode & 0o077 == 0

    server.process.send_signal(number)

    assert server.end() == (0, b"", b"")
    assert not folder.exists()


def test_it_ends_with_its_parent(server: Server) -> None:
    code, _, _ = server.end()  # closes the pipe first

    assert code == 0


def test_the_kubeconfig_is_where_it_was_asked_for(tmp_path: Path) -> None:
    server = Server("--kubeconfig-out", str(tmp_path / "mine"))

    assert server.kubeconfig == tmp_path / "mine"
    assert server.kubeconfig.stat().st_mode & 0o777 == 0o600
    assert server.end()[0] == 0


def test_a_killed_server_with_a_data_directory_comes_back_for_the_clients_it_had(tmp_path: Path) -> None:
    kept = ("--data-dir", str(tmp_path / "data"), "--kubeconfig-out", str(tmp_path / "kubeconfig"))
    first = Server(*kept)
    known = first.kubeconfig.read_text()
    first.process.kill()
    first.end()

    second = Server(*kept, "--port", first.said[1].rpartition(":")[2])

    assert second.kubeconfig.read_text() == known
    assert second.end()[0] == 0


def test_a_server_that_finds_the_directory_in_use_makes_no_identity(tmp_path: Path) -> None:
    # The state of two servers that start at once on a new directory: one has the lock, and no identity yet.
    with contextlib.closing(locked(tmp_path / "data")):
        code, errors = run("--data-dir", str(tmp_path / "data"))

    assert code == 2
    assert "is in use by another server" in errors
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["acknowledged"]


def test_a_server_without_a_parent_to_watch_is_refused() -> None:
    code, errors = run("--exit-with-parent")

    assert code == 2
    assert errors == "error: --exit-with-parent needs a pipe or a terminal as standard input, held open\n"


def test_a_taken_port_is_named_with_the_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, errors = run("--port", str(port))

    assert code == 2
    assert errors == f"error: port {port} of 127.0.0.1 is taken: choose another with --port\n"


def test_beyond_loopback_it_is_known_by_the_names_given_and_says_that_others_reach_it(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    server = Server(
        *("--bind-address", "0.0.0.0", "--tls-san", "api.test", "--tls-san", "192.0.2.7"),
        *("--kubeconfig-out", str(kubeconfig)),
    )
    configuration = Configuration()
    load_kube_config(str(kubeconfig), client_configuration=configuration)
    url, _, port = configuration.host.rpartition(":")
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    for name in ("api.test", "192.0.2.7", "localhost"):
        with (
            socket.create_connection(("127.0.0.1", int(port))) as sock,
            context.wrap_socket(sock, server_hostname=name) as secured,
        ):
            assert secured.version()

    status, _, errors = server.end()
    assert (status, url) == (0, "https://api.test")
    assert "other machines may reach this server for tests" in errors.decode()
    assert errors.count(b"\n") == 1


def test_an_address_of_another_machine_is_named_with_the_remedy() -> None:
    code, errors = run("--bind-address", "192.0.2.7")

    assert code == 2
    assert errors == (
        "error: 192.0.2.7 is no address of this machine: "
        "choose one of its addresses with --bind-address, or 0.0.0.0 for all\n"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["--kubeconfig-out", "{}/missing/file"], "{}/missing/file cannot be written", id="kubeconfig"),
        pytest.param(
            ["--kubeconfig-out", "{}/theirs"],
            "{}/theirs exists and was not written by an embedded server",
            id="not ours",
        ),
        pytest.param(["--data-dir", "{}/theirs/data"], "{}/theirs/data", id="data directory"),
        pytest.param(["--data-dir", "{}/theirs"], "theirs", id="data directory that is a file"),
        pytest.param(["--bind-address", "everywhere"], "not 'everywhere'", id="address"),
        pytest.param(["--tls-san", "db:443"], "not 'db:443'", id="name with a port"),
        pytest.param(["--port", "70000"], "70000", id="port out of range"),
        pytest.param(["--prot", "7"], "--prot", id="unknown option"),
        pytest.param(["extra"], "extra", id="argument too many"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_thing(
    tmp_path: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs").write_text("somebody's")

    code = main([argument.format(tmp_path) for argument in arguments])  # spares the start of a process for each

    errors = capsys.readouterr().err
    assert code == 2
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert told.format(tmp_path) in errors


def test_a_perturbed_client_loses_its_connection_and_its_process_is_told_to_restart(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("crash: {write: POST configmaps default/, occurrence: 2}\nclient: perturbed\n", encoding="utf-8")
    running = Server("--perturb", str(plan), "--perturb-restart", "sh -c 'echo started again; exit 3'")
    configuration = Configuration()
    load_kube_config(str(running.kubeconfig), client_configuration=configuration)
    configuration.retries = False
    with ApiClient(configuration) as client, ApiClient(configuration) as other:
        client.user_agent = "perturbed/1"
        for name in ("a", "b"):
            body = {"metadata": {"name": name}}
            with pytest.raises(HTTPError) if name == "b" else contextlib.nullcontext():
                CoreV1Api(client).create_namespaced_config_map("default", body)
        names = [each.metadata.name for each in CoreV1Api(other).list_namespaced_config_map("default").items]

    running.process.terminate()
    status, _, errors = running.end()
    assert (status, names) == (0, ["a", "b"])
    assert errors.decode().splitlines() == [
        "perturbed: the client's connection is cut at POST configmaps default/ after it had landed",
        "started again",
        "--perturb-restart: sh -c 'echo started again; exit 3' ended with status 3",
    ]
