# SPDX-License-Identifier: Apache-2.0
"""The tutorial, followed step by step: its files are written, and its commands show what it says they show."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kit.processes.inline_pytest import Outcome, run_inline
from kit.processes.kubectl import Kubectl
from kit.processes.programs import clean_environment, client_of
from kit.tutorial import blocks_of, commands_of, contents_of, merged, write

from apimachinery.objects import ObjectKey, annotations_of
from controller_runtime.api.builtin_resources import DEPLOYMENTS
from controller_runtime.program.cli_run import run_command
from controller_runtime.testing import EmbeddedCluster

pytestmark = pytest.mark.ends

TEXT = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = blocks_of(TEXT)
WEB = ObjectKey("web", "default")
CHECKSUM = "example.com/config-checksum"


def told(outcome: Outcome) -> list[str]:
    """Return the lines of pytest's short summary that a tutorial shows."""
    failed = [f"FAILED {failure.splitlines()[0]}" for failure in outcome.failures]
    counts = f"{len(failed)} failed, {outcome.passed} passed" if failed else f"{outcome.passed} passed"
    return [*failed, counts]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reader who has followed the tutorial."""
    folder = tmp_path_factory.mktemp("restarts")
    for block in BLOCKS:
        write(folder, block)
    return folder


def test_each_step_shows_what_the_tutorial_says(tmp_path: Path) -> None:
    runs = 0
    for block in BLOCKS:
        write(tmp_path, block)
        if block.language != "console" or block.mark:
            continue
        for command, shown in commands_of(block):
            assert command == "pytest -q"
            outcome = run_inline(tmp_path)
            assert shown == told(outcome), "\n".join(outcome.failures)
            runs += 1
    assert runs == 6


@pytest.mark.parametrize(
    ("said", "first"),
    [("from step {} on, `kubectl`", "```console\n$ kubectl"), ("the live view of step {}", "live view")],
)
def test_the_steps_that_the_tutorial_names_are_those_that_need_what_it_says(said: str, first: str) -> None:
    steps = re.split(r"^## (?=\d)", TEXT, flags=re.MULTILINE)[2:]  # the first step is where it is said

    [number] = [step.partition(".")[0] for step in steps if first in step][:1]

    assert said.format(number) in TEXT


def test_the_operator_is_short(finished: Path) -> None:
    lines = [line for line in (finished / "restarts.py").read_text().splitlines() if line.strip()]

    assert len(lines) < 80


def test_the_example_is_the_file_that_the_tutorial_ends_with(finished: Path) -> None:
    example = Path(__file__).parents[1] / "examples" / "restarts.py"

    assert contents_of(example) == contents_of(finished / "restarts.py")


@pytest.fixture
def kubeconfig(finished: Path) -> Iterator[str]:
    """Yields the kubeconfig of the embedded server on which the operator runs, which its log names."""
    command = [sys.executable, "restarts.py", "--embedded", "--no-live"]
    with subprocess.Popen(command, cwd=finished, env=clean_environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        log = ""
        while "controller started" not in log:
            line = process.stderr.readline()
            log += line
            assert line, log
        found = re.search(r"kubeconfig=(\S+)", log)
        assert found, log
        yield found[1]
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 0


def checksum_in(deployment: dict[str, Any] | None) -> str:
    return annotations_of(deployment["spec"]["template"]).get(CHECKSUM, "") if deployment is not None else ""


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_the_commands_of_kubectl_show_what_the_tutorial_says(finished: Path, kubeconfig: str, tmp_path: Path) -> None:
    kubectl = Kubectl(tmp_path, Path(kubeconfig))
    (block,) = (block for block in BLOCKS if block.mark == "kubectl")
    before = ""
    with client_of(kubeconfig) as client:
        for command, shown in commands_of(block):
            _, *words = shlex.split(command)
            if words[0] == "get":  # a reader is slower than the operator, and this test is not
                deployment = client.wait(
                    DEPLOYMENTS, WEB, dict, until=lambda found, old=before: checksum_in(found) not in ("", old)
                )
                before = checksum_in(deployment)
            words = [str(finished / word) if word.endswith(".yaml") else word for word in words]
            assert kubectl(*words).splitlines() == shown


def test_the_recorded_rights_and_the_made_manifests_are_accepted(finished: Path, cluster: EmbeddedCluster) -> None:
    outcome = run_inline(finished, "--rbac-record", "rights.yaml")
    assert not outcome.failures, "\n".join(outcome.failures)
    (command,) = (words for words in map(str.split, TEXT.splitlines()) if "manifests" in words and words[0] == "python")
    command = [sys.executable, *command[1 : command.index(">")]]
    made = subprocess.run(command, cwd=finished, env=clean_environment(), stdout=subprocess.PIPE, check=True)

    documents = [*yaml.safe_load_all(made.stdout)]
    for document in documents:
        cluster.user.create(cluster.user.resource(document["kind"], document["apiVersion"]), document)

    (deployment,) = (document for document in documents if document["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    named = {word.partition("=")[0] for word in container["args"]}
    assert named <= {name for option in run_command.params for name in option.opts}
    assert {"Namespace", "ServiceAccount"} <= {document["kind"] for document in documents}
    assert (deployment["spec"]["replicas"], container["image"]) == (2, "registry.example.com/restarts:1")


def test_definitions_replace_those_of_the_same_name() -> None:
    before = '"""A."""\n\nimport re\n\nX = 1\n\n\ndef f(): ...\n\n\nif __name__ == "__main__":\n    f()\n'

    after = merged(before, "import ast\n\n\ndef g(): ...\n\n\ndef f():\n    g()\n")

    assert after.split("\n\n\n") == [
        '"""A."""', "import re\nimport ast", "X = 1", "def f():\n    g()", "def g(): ...",
        'if __name__ == "__main__":\n    f()\n',
    ]  # fmt: skip
