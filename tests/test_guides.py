# SPDX-License-Identifier: Apache-2.0
"""The guides say what is so: their code runs, and every name in them is one of the code's."""

from __future__ import annotations

import ast
import inspect
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import prometheus_client
import pytest
from kit.processes.inline_pytest import run_inline

import controller_runtime.testing
from controller_runtime.api.resources import NODES
from controller_runtime.cache.patience import Patience
from controller_runtime.client.client import Client
from controller_runtime.client.http import answer as http_answer
from controller_runtime.client.http import exec_plugin
from controller_runtime.client.http import stream as http_stream
from controller_runtime.client.request_threads import LINGER, RequestThreads
from controller_runtime.controller import async_workers, loop_watchdog
from controller_runtime.controller.controller import Controller
from controller_runtime.core import signals as core_signals
from controller_runtime.manager import health, problems
from controller_runtime.manager.endpoints import Endpoints
from controller_runtime.manager.lifecycle import CANCEL_GRACE
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.metrics import Metrics
from controller_runtime.program import cli_init, cli_run, command, program, signals
from controller_runtime.rights import granted_by, read
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.webhooks import Checks
from controllers.command import run
from embedded_apiserver import __main__ as apiserver

pytestmark = pytest.mark.ends

DOCS = Path(__file__).resolve().parents[1] / "docs"
OPERATIONS = (DOCS / "operations.md").read_text(encoding="utf-8")
INSTRUMENTING = (DOCS / "instrumenting.md").read_text(encoding="utf-8")
EMBEDDED_SERVER = (DOCS / "embedded-server.md").read_text(encoding="utf-8")
TESTING = (DOCS / "testing.md").read_text(encoding="utf-8")
INFORMERS = (DOCS / "informers.md").read_text(encoding="utf-8")
PERTURBATION = (DOCS / "perturbation.md").read_text(encoding="utf-8")
WORKLOADS = (DOCS / "workloads.md").read_text(encoding="utf-8")
CONTROLLERS = (DOCS / "controllers.md").read_text(encoding="utf-8")
ASYNCIO = (DOCS / "asyncio.md").read_text(encoding="utf-8")
OUTSIDE = (DOCS / "outside.md").read_text(encoding="utf-8")
CLIENT = (DOCS / "client.md").read_text(encoding="utf-8")
RING = (DOCS / "ring.md").read_text(encoding="utf-8")
SCALING = (DOCS / "scaling.md").read_text(encoding="utf-8")
DEPENDENTS = (DOCS / "dependents.md").read_text(encoding="utf-8")
CUSTOM_RESOURCES = (DOCS / "custom-resources.md").read_text(encoding="utf-8")
WEBHOOKS = (DOCS / "webhooks.md").read_text(encoding="utf-8")


def code_of(text: str) -> str:
    """The Python of a guide, as one file."""
    return "\n\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def rows_of(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    lines = text.partition(f"## {heading}\n")[2].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


@pytest.mark.parametrize(
    ("guide", "tests"),
    [
        pytest.param(CONTROLLERS, 11, id="controllers"),
        pytest.param(TESTING, 10, id="testing"),
        pytest.param(INFORMERS, 13, id="informers"),
        pytest.param(PERTURBATION, 2, id="perturbation"),
        pytest.param(WORKLOADS, 2, id="workloads"),
        pytest.param(ASYNCIO, 2, id="asyncio"),
        pytest.param(OUTSIDE, 1, id="an outside service"),
        pytest.param(CUSTOM_RESOURCES, 7, id="custom resources"),
        pytest.param((DOCS / "writes.md").read_text(encoding="utf-8"), 1, id="the ladder of writes"),
        pytest.param(DEPENDENTS, 4, id="dependents"),
        pytest.param(WEBHOOKS, 2, id="webhooks"),
        pytest.param(RING, 2, id="ring"),
        pytest.param(SCALING, 1, id="scaling"),
    ],
)
def test_the_code_of_a_guide_runs(tmp_path: Path, guide: str, tests: int) -> None:
    (tmp_path / "test_guide.py").write_text(code_of(guide), encoding="utf-8")
    rights = tmp_path / "rights.yaml"
    # A guide without a running controller has no rights to record.
    is_recorded = ".run(" in code_of(guide) or "manager.add(" in guide
    record = ["--rbac-record", str(rights)] if is_recorded else []

    outcome = run_inline(tmp_path, "--strict-markers", *record)

    assert not outcome.failures, "\n".join(outcome.failures)
    assert outcome.passed == outcome.collected
    assert guide.count("def test_") == tests
    assert not is_recorded or granted_by(read(rights)), "the guides record their rights as the guide to testing says"


def test_the_code_of_the_leader_election_guide_makes_a_manager_that_elects(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace: dict[str, Any] = {}

    exec(code_of((DOCS / "leader-election.md").read_text(encoding="utf-8")), namespace)
    monkeypatch.setattr(Manager, "from_kubeconfig", staticmethod(lambda **options: options))

    assert namespace["manager"]()["leader_election"].name == "my-operator"


def test_the_code_of_the_client_guide_runs(tmp_path: Path) -> None:
    (tmp_path / "guide.py").write_text(code_of(CLIENT), encoding="utf-8")

    outcome = subprocess.run(
        [sys.executable, "-W", "error", str(tmp_path / "guide.py")], capture_output=True, text=True, check=False
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert CLIENT.count("```python") == 10


@pytest.mark.parametrize(
    "guide", ["coordinated-leader-election", "heartbeat", "node-agent", "operations", "instrumenting"]
)
def test_the_code_that_a_guide_only_shows_names_what_there_is(guide: str) -> None:
    tree = ast.parse(code_of((DOCS / f"{guide}.md").read_text(encoding="utf-8")))
    imports: list[ast.stmt] = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names: dict[str, Any] = {"Endpoints": Endpoints}

    exec(compile(ast.Module(imports, []), guide, "exec"), names)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) in names]

    assert calls
    for call in calls:
        inspect.signature(names[ast.unparse(call.func)]).bind(*call.args, **{str(k.arg): k for k in call.keywords})


def test_the_client_guide_names_the_verbs_there_are() -> None:
    named = set(re.findall(r"`(\w+)(?:\(|`)", "".join(call for call, _ in rows_of(CLIENT, "Verbs"))))
    settings = {"resource", "within", "until", "limited", "writing", "from_kubeconfig", "host", "transport"}

    assert named | settings == {name for name in dir(Client) if not name.startswith("_")}


@pytest.mark.parametrize(
    "said",
    [
        f"may take {exec_plugin.PLUGIN_TIMEOUT:.0f} s",
        f"complete lines: {Patience().silence:.0f} s without one",
        f"says so after {Patience().overdue:.0f} s",
        f"may have {http_answer.LONGEST_ANSWER >> 30} GiB",
        f"a head {http_answer._LONGEST_HEAD >> 20} MiB",
        f"one line of a watch {http_stream._LONGEST_LINE >> 20} MiB",
        f"a credential plugin says {exec_plugin.LONGEST_CREDENTIAL >> 20} MiB",
        f"the first {http_answer._LONGEST_REFUSAL >> 20} MiB",
    ],
)
def test_the_bounds_that_the_client_guide_names_are_those_of_the_code(said: str) -> None:
    assert said in " ".join(CLIENT.split())


@pytest.mark.parametrize(
    "said",
    [
        f"gives no sign for {loop_watchdog.LOOP_BLOCKED_AFTER:.0f} s",
        f"After {async_workers.CANCELLATION_IGNORED_AFTER:.0f} s a warning",
        f"a {'tenth' if LINGER == 0.1 else LINGER} of a second after the last request",
        f"on threads, {inspect.signature(RequestThreads).parameters['limit'].default} at most",
    ],
)
def test_the_bounds_that_the_asyncio_guide_names_are_those_of_the_code(said: str) -> None:
    assert said in " ".join(ASYNCIO.split())


def test_the_testing_guide_names_what_there_is() -> None:
    faults = re.findall(r"`([A-Z]\w+)`", TESTING.partition("## Faults\n")[2].partition("\n## ")[0])

    assert {"Refused", "SilentStream", *faults} <= set(controller_runtime.testing.__all__)


def test_the_metrics_that_the_text_names_are_in_the_table() -> None:
    documented = set(re.findall(r"^\| `(\w+)`", (DOCS / "metrics.md").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"\b(?:controller_runtime_\w+|workqueue_\w+|rest_client_\w+)\b", OPERATIONS))

    assert (
        named - {f"controller_runtime_{part}_" for part in ("informer", "channel", "ring", "deletions", "events")}
        <= documented
    )


def test_the_probes_are_those_that_are_answered(cluster: EmbeddedCluster) -> None:
    cluster.manager.ring("cabins", "namespace")
    cluster.manager.webhooks.add(Checks(NODES, lambda *_: None))
    checks = health.health_of(cluster.manager)
    answered = {"/livez", "/healthz", "/readyz"}
    answered |= {f"/livez/{name}" for name in checks.live}
    answered |= {f"/readyz/{name}" for name in (*checks.ready, *checks.notes)}

    documented = {path for row in rows_of(OPERATIONS, "Probes") for path in re.findall(r"`([^`]+)`", row[0])}

    assert documented == answered


@pytest.mark.parametrize(
    "said",
    [
        f"more than {problems.STUCK_AFTER:.0f} s",
        f"heard nothing from the server for {Patience().overdue:.0f} s",
        f"has {run.GRACE:g} s to finish",
        f"on a cluster {program.CLUSTER_GRACE:g} s",
        f"again within {core_signals.REPEATED_WITHIN:g} s",
        f"cancelled and has {CANCEL_GRACE:.0f} s to end",
    ],
)
def test_the_bounds_that_the_guide_names_are_those_of_the_code(said: str) -> None:
    assert said in " ".join(OPERATIONS.split())


def section_of(text: str, heading: str) -> str:
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_metrics_of_the_guides_reconciler_are_exposed(cluster: EmbeddedCluster) -> None:
    namespace: dict[str, Any] = {}
    exec(code_of(section_of(INSTRUMENTING, "Metrics of your own")), namespace)
    cluster.manager.add(Controller("cabins", namespace["Cabins"]()).watch(NODES))

    text = Metrics(cluster.manager).text().decode()
    prometheus_client.REGISTRY.unregister(namespace["BUILT"])

    assert "cabins_free 0.0" in text
    assert "cabins_built_total 0.0" in text


def test_the_guides_way_to_configure_logging_gives_the_line_that_it_shows() -> None:
    program = """
from apimachinery.log import bound
with bound(controller="cabins", request="default/a", reconcile=7):
    logging.getLogger(__name__).info("scaled to %d", 3)
"""
    logs = section_of(INSTRUMENTING, "Logs")

    done = subprocess.run([sys.executable, "-c", code_of(logs) + program], capture_output=True, text=True, check=True)

    assert f"`{done.stderr.strip()}`" in " ".join(logs.split())


def test_an_example_is_the_program_that_the_guide_shows() -> None:
    block = next(each for each in re.findall(r"```python\n(.*?)```", OPERATIONS, re.DOTALL) if "def setup" in each)
    example = Path(__file__).parents[1] / "examples" / "zone_labels.py"

    assert block in example.read_text()


def options_of(*commands: click.Command) -> set[str]:
    """Return the options of commands, and those that each command has."""
    options = (each for one in commands for each in one.params if isinstance(each, click.Option))
    return {"-h", "--help"} | {name for option in options for name in (*option.opts, *option.secondary_opts)}


def test_options_signals_and_exit_statuses_are_those_of_the_command() -> None:
    options = options_of(cli_run.run_command, cli_init.init_command, apiserver.command)
    handled = {signal.Signals(number).name for number in (*signals.STOPPING, signals.REPORTING)}

    assert set(re.findall(r"`(--[a-z-]+)`", OPERATIONS + INSTRUMENTING + EMBEDDED_SERVER)) <= options
    assert set(re.findall(r"\bSIG[A-Z0-9]+\b", OPERATIONS)) == handled
    assert {row[0] for row in rows_of(OPERATIONS, "Signals")} >= {"SIGINT, SIGTERM, SIGHUP", "SIGUSR1"}
    assert f"| {command.FAILED} | failed" in OPERATIONS
    assert f"| {command.BAD_USAGE} | called or configured wrongly" in OPERATIONS
