# SPDX-License-Identifier: Apache-2.0
"""Services outside of the cluster of an operator in any language: their states, what calls change, and wrong input."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kit.processes.commands import run_command

from apimachinery.errors import UsageError
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.testing.outside.calls import Call
from controller_runtime.testing.outside.courses import AS_USUAL, Course
from controller_runtime.testing.outside.snapshots import Changed
from controller_runtime.testing.perturbation.others.command import perturb
from controller_runtime.testing.perturbation.others.outsides import Outsides, Recorder, Service
from embedded_apiserver.perturbation import Name

HERE = Path(__file__).parent / "hostile"
RUN = [sys.executable, "-S", str(HERE / "things.py"), "{port}"]


class Noting(Recorder):
    def __init__(self) -> None:
        self.told: list[object] = []

    def called(self, call: Call) -> tuple[int, Course]:
        self.told.append(call.text)
        return 7, AS_USUAL

    def changed(self, outside: str, found: Sequence[Changed], number: int) -> None:
        self.told.append((outside, [each.key for each in found], number))


def outsides(*services: Service) -> Outsides:
    host = SystemHost()
    return Outsides(host, services, 30.0, Stop(host, "pause").wait, lambda: None)


def put(address: str, name: str) -> None:
    with closing(http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)) as connection:
        connection.request("PUT", f"/things/{name}", json.dumps({"v": 1}))
        assert connection.getresponse().status == 201


def test_a_service_has_an_address_and_what_a_call_changes_is_known_before_its_answer() -> None:
    with outsides(Service("things", RUN, env="THINGS_URL", state="/things")) as found:
        found.recorder = noting = Noting()
        assert found.environment == {"THINGS_URL": found.places["things"]}
        assert found.present() == {}
        put(found.places["things"], "a")

        assert noting.told == ["things PUT /things/a", ("things", ["a"], 7)]
        assert found.present() == {Name("things", "a"): [{"v": 1}]}
        assert not found.failures


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (["no-such-command", "{port}"], "cannot run no-such-command: No such file"),
        ([sys.executable, "-S", "-c", "print('no port')", "{port}"], "has ended by itself; it printed: no port"),
    ],
)
def test_a_service_that_does_not_run_is_an_error_that_says_why(run: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=why), outsides(Service("things", run)):
        pass


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"name": "a"}, "a service needs `name` and `run`, such as"),
        ({"name": "a", "run": RUN, "port": 1}, "'port' is not a field of a service: there are name, run"),
        ({"name": "a b", "run": RUN}, "`name` is one word of letters"),
        ({"name": "a", "run": "python broker.py"}, "`run` is a list with a command that has `{port}` in it"),
        ({"name": "a", "run": RUN, "protocol": "udp"}, "`protocol` is http or tcp, not 'udp'"),
        ({"name": "a", "run": RUN, "protocol": "tcp", "state": "/a"}, "`state` is a path of a service that speaks"),
    ],
)
def test_wrong_input_gets_one_line_that_says_how_to_correct_it(given: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        Service.read("story.yaml: outsides 1", given)

    assert str(refused.value).startswith("story.yaml: outsides 1: ")
    assert why in str(refused.value)


def perturbed(mode: str, only: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    story = {
        "outsides": [{"name": "things", "run": RUN, "state": "/things"}],
        "steps": [
            {"apply": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"v": "1"},
                       "metadata": {"name": "a", "labels": {"app": "hostile"}}}}
        ],
    }  # fmt: skip
    (folder / "story.yaml").write_text(json.dumps(story), encoding="utf-8")
    options = ["--story", "story.yaml", "--patience", "10", "--only", only]
    command = [sys.executable, "-S", str(HERE / "hostile_operator.py"), mode, "1", "{things}"]
    told = run_command(lambda: perturb.main([*options, "--", *command]), capsys)
    return told.status, told.stdout + told.stderr


@pytest.mark.long
@pytest.mark.parametrize(("mode", "status"), [("outside", 0), ("outside-ignores-errors", 1)])
def test_an_error_that_is_taken_for_success_is_found_in_the_words_of_the_other_command(
    mode: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    found, told = perturbed(mode, "refused at call 1", tmp_path, capsys)

    assert found == status, told
    if status:
        assert "outside (lawful): step 1: call 1, things PUT /things/a, was refused before it was sent" in told
        assert "things a: {'v': '1'} in a calm run, absent here" in told
        at = json.loads((tmp_path / ".perturb" / "refused-at-call-1.json").read_text(encoding="utf-8"))["outside"]
        assert at == {"what": "call things PUT /things/a", "occurrence": 1, "fault": "refused"}
