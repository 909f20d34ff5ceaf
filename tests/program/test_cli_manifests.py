# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime manifests`: printed, written, compared, or refused in one line."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from cabins import setup
from kit.manifests.bundles import DATA, IMAGE, RIGHTS

from apimachinery.system import SystemHost
from controller_runtime import Client
from controller_runtime.__main__ import cli
from controller_runtime.crd import DEFINITIONS
from controller_runtime.manifests.facts import facts_of, unconnected_manager
from controller_runtime.program.command import main
from controller_runtime.testing import APIServerProcess

PROGRAM = str(Path(__file__).parents[2] / "examples" / "cabins.py")


class Done(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Done]:
    monkeypatch.chdir(tmp_path)

    def call(options: str) -> Done:
        with pytest.raises(SystemExit) as ended:
            main(cli, ["manifests", PROGRAM, *shlex.split(options)], "controller_runtime")
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return call


def test_the_manifests_are_printed(call: Callable[[str], Done]) -> None:
    done = call(f"--rights {RIGHTS} --image {IMAGE}")

    assert done == Done(0, (DATA / "cabins.yaml").read_text(encoding="utf-8"), "")


def test_without_an_image_a_line_says_how_to_name_one(call: Callable[[str], Done]) -> None:
    done = call("--no-rights")

    assert done.err == "the image is cabins:latest: name yours with --image\n"
    assert "kind: ClusterRole\n" not in done.out
    assert "kind: Role\n" in done.out


def test_what_was_written_is_the_same_as_the_code_until_either_changes(
    call: Callable[[str], Done], tmp_path: Path
) -> None:
    given = f"--rights {RIGHTS} --image {IMAGE}"
    assert call(f"{given} --kustomize k --helm h --service-monitor").status == 0
    assert call(f"{given} --service-monitor --check k h") == Done(0, "", "")
    assert call("--check k") == Done(0, "", "")

    for folder in ("k", "h/templates"):
        file = tmp_path / folder / "definitions.yaml"
        file.write_text(file.read_text().replace("maximum: 9", "maximum: 8"))
    done = call("--check k h")
    assert done.status == 1
    assert [line.split(": ")[0] for line in done.out.splitlines()] == [
        "h/templates/definitions.yaml:38",
        "k/definitions.yaml",
    ]

    again = call(f"{given} --kustomize k")
    assert again == Done(0, "", "removed k/service_monitor.yaml, which is made no more\n")
    assert call("--check k").status == 0


def test_a_change_that_breaks_what_a_file_says_is_named_as_breaking(
    call: Callable[[str], Done], tmp_path: Path
) -> None:
    assert call(f"--rights {RIGHTS} --image {IMAGE} --kustomize k").status == 0
    file = tmp_path / "k" / "definitions.yaml"
    file.write_text(file.read_text().replace("maximum: 9", "maximum: 10"))

    done = call("--check k")

    assert done.status == 1
    assert done.out.splitlines()[0] == (
        "k/definitions.yaml: CustomResourceDefinition cabins.example.com: breaking: "
        "v1.spec.beds: has the maximum 9, and was 10"
    )


def test_a_change_that_breaks_what_a_cluster_has_stored_fails_unless_it_is_allowed(call: Callable[[str], Done]) -> None:
    host = SystemHost()
    with APIServerProcess(host) as server:
        given = f"--check --kubeconfig {shlex.quote(str(server.kubeconfig))}"
        assert call(given) == Done(0, "", "")
        client = Client.from_kubeconfig(server.kubeconfig)
        manager = unconnected_manager(host)
        setup(manager)
        [body] = facts_of(manager).definitions
        text = msgspec.json.encode(body).replace(b'"maximum":9', b'"maximum":10')
        client.create(DEFINITIONS, msgspec.json.decode(text))
        client.transport.close()
        done = call(given)
        allowed = call(f"{given} --allow-breaking")

    assert done.status == 1
    assert done.out.endswith(
        "cabins.example.com: breaking: v1.spec.beds: has the maximum 9, and was 10 (0 of 0 stored objects)\n"
    )
    assert allowed == done._replace(status=0)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("", "the rights of the program are unknown: record them with `pytest --rbac-record rights.yaml` and give"),
        ("--rights x --no-rights", "--rights and --no-rights exclude each other: give one of them"),
        ("--rights missing.yaml", "the rights of missing.yaml cannot be read"),
        ("--check", "--check needs the files or folders to compare"),
        ("--no-rights --allow-breaking", "--allow-breaking and --kubeconfig are about --check: give it, too"),
        ("other.yaml --no-rights", "other.yaml: files are only compared, with --check"),
        ("--check a --helm b", "--check writes nothing: leave out --kustomize, --helm and --monitoring"),
        ("--no-rights --name Cabins", "'Cabins' cannot name a service: give another --name"),
        ("--no-rights --namespace a.b", "--namespace 'a.b' is not a valid name"),
        ("--no-rights --image 'a b'", "--image 'a b' names no image"),
        ("--no-rights --replicas 0", "invalid value for '--replicas'"),
        ("--no-rights --watch-namespace A", "--watch-namespace 'A' is not a valid name"),
        ("--no-rights --webhook-from 10.0.0.0/8", "--webhook-from: the program has no webhooks: leave it out"),
        ("--no-rights --webhook-from 10.0.0.1/8", "--webhook-from: 10.0.0.1/8 has host bits set: write 10.0.0.0/8"),
    ],
)
def test_a_mistake_is_one_line(call: Callable[[str], Done], options: str, error: str) -> None:
    done = call(options)

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"controller_runtime: {error}")
    assert done.err.count("\n") == 1
