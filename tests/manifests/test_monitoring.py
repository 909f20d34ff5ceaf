# SPDX-License-Identifier: Apache-2.0
"""The dashboard and the alerts name what a real scrape has; what brings them up is accepted by the embedded server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from kit.manifests.promql import Labels, NotAnExpression, Reader
from prometheus_client.parser import text_string_to_metric_families

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES, Resource
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.scope import CacheScope
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.deletions import DeletionBudget
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.metrics import Metrics
from controller_runtime.manifests.files import write_files
from controller_runtime.manifests.monitoring.alerts import alerts, rule_groups
from controller_runtime.manifests.monitoring.dashboard import ROWS, dashboard
from controller_runtime.manifests.monitoring.stack import monitoring_files
from controller_runtime.manifests.settings import plain_settings
from controller_runtime.program.cli_manifests import manifests_command
from controller_runtime.resources import SECRETS
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node

TARGET = {"namespace", "pod", "job", "instance"}
"""The labels that Prometheus gives to all series of a target."""

SETTINGS = plain_settings("cabins", namespace="cabins-system", image="cabins:1", replicas=2)
ELECTION = LeaderElectionConfig(name="cabins", namespace="default")


class Cabins(Reconciler):
    """Does nothing."""

    def reconcile(self, request: Request) -> Result:
        return Result()


@pytest.fixture(scope="module")
def scraped() -> dict[str, Labels]:
    """The labels of each series of a program that has a leader, a ring, queues, a channel, a subscriber and events."""
    with Simulation(0) as simulation, EmbeddedCluster(simulation.host("r"), leader_election=ELECTION) as cluster:
        manager, channel = cluster.manager, Channel(simulation.host("pusher"))
        manager.scope_caches(kinds={SECRETS: CacheScope(bodies=Bodies())})
        manager.informer(SECRETS)
        manager.recorder("cabins")
        manager.ring("cabins")
        manager.deletions.limit(DeletionBudget(NODES, most=1))
        manager.add(Controller("cabins", Cabins()).watch(NODES).receive(channel))
        informer = manager.informer(NODES)
        informer.subscribe(lambda delta: None, name="tail")
        channel.push(ObjectKey("a"))
        cluster.start()
        cluster.user.create(NODES, a_node("a"))
        simulation.advance(30.0)
        informer.reflector.liveness.failed_at = 1.0  # a series that only an error brings
        text = Metrics(manager).text().decode()
    found: dict[str, Labels] = {"up": frozenset(TARGET)}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] = frozenset(sample.labels) | TARGET
    return found


def used(text: str, metrics: dict[str, Labels]) -> set[str]:
    reader = Reader(text, metrics)
    reader.read()
    return reader.used


def expressions(shown: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in shown["panels"] for target in panel.get("targets", ())]


def test_each_expression_of_the_dashboard_holds_against_a_real_scrape(scraped: dict[str, Labels]) -> None:
    shown = expressions(dashboard("cabins"))

    assert len(shown) == sum(map(len, ROWS.values())) > 40
    for text in shown:
        used(text, scraped)


def test_each_metric_of_our_own_is_on_the_dashboard(scraped: dict[str, Labels]) -> None:
    ours = {name for name in scraped if not name.startswith(("process_", "python_", "up"))}
    plain = {re.sub("_(bucket|count|sum|created)$", "", name) for name in ours}

    shown = set().union(*(used(text, scraped) for text in expressions(dashboard("cabins"))))

    assert plain == {name.removesuffix("_bucket") for name in shown if not name.startswith("process_")}


@pytest.mark.parametrize("alert", alerts("cabins-system"), ids=lambda alert: alert.name)
def test_each_alert_holds_against_a_real_scrape(scraped: dict[str, Labels], alert: Any) -> None:
    reader = Reader(alert.expression, scraped)
    left = reader.read()

    said = set(re.findall(r"\$labels\.(\w+)", alert.summary + alert.remedy))
    assert said <= left, "the text may name only labels that the result has"
    assert 'namespace="cabins-system"' in alert.expression
    assert re.fullmatch(r"\d+[mh]", alert.lasts)
    assert re.search(r" (>|==) [\d.]+$|absent", alert.expression), "it has a bound"


def test_a_dashboard_has_no_panel_over_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard("cabins")["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
    identifiers = [panel["id"] for panel in dashboard("cabins")["panels"]]
    assert len(identifiers) == len({*identifiers})


@pytest.mark.parametrize(
    "text",
    [
        "sum by (controller) (rate(controller_runtime_reconcile_totals[5m]))",
        "sum by (controllers) (rate(controller_runtime_reconcile_total[5m]))",
        'sum by (controller) (rate(controller_runtime_reconcile_total{contoller="a"}[5m]))',
        "rate(controller_runtime_reconcile_total)",
        "controller_runtime_active_workers[5m]",
        "histogram_quantile(0.9, sum by (controller) (rate(controller_runtime_reconcile_time_seconds_bucket[5m])))",
        "sum by (controller) (controller_runtime_active_workers",
        "sum by (controller) (controller_runtime_active_workers) / sum by (pod) (controller_runtime_active_workers)",
        "avg_over_time(controller_runtime_active_workers[5m])",
        "controller_runtime_active_workers controller_runtime_active_workers",
    ],
)
def test_the_reader_of_expressions_refuses_what_is_wrong(scraped: dict[str, Labels], text: str) -> None:
    with pytest.raises(NotAnExpression):
        Reader(text, scraped).read()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_accepts_the_rules(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text(json.dumps({"groups": rule_groups("cabins", "cabins-system")}))

    subprocess.run(["promtool", "check", "rules", str(rules)], check=True)


def test_the_objects_are_accepted_and_fit_together() -> None:
    files = monitoring_files(SETTINGS, with_operator=False)
    objects = [obj for text in files.values() for obj in yaml.safe_load_all(text)]
    named = {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects if "metadata" in obj}
    with Simulation(0) as simulation, EmbeddedCluster(simulation.host("r")) as cluster:
        cluster.user.create(
            Resource("", "v1", "Namespace", "namespaces", namespaced=False), {"metadata": {"name": "cabins-system"}}
        )
        for (kind, _), obj in named.items():
            group, _, version = obj["apiVersion"].rpartition("/")
            cluster.user.create(Resource(group, version, kind, f"{kind.lower()}s"), obj)

    for name in ("cabins-prometheus", "cabins-grafana"):
        pod = named["Deployment", name]["spec"]["template"]["spec"]
        for volume in pod["volumes"]:
            assert "emptyDir" in volume or ("ConfigMap", volume["configMap"]["name"]) in named
        assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == {
            one["name"] for one in pod["volumes"]
        }
        for mount in pod["containers"][0]["volumeMounts"]:
            assert "subPath" not in mount or mount["subPath"] in named["ConfigMap", mount["name"]]["data"]
        service = named["Service", name]["spec"]
        assert (
            service["selector"].items() <= named["Deployment", name]["spec"]["template"]["metadata"]["labels"].items()
        )
    data = named["ConfigMap", "cabins-prometheus"]["data"]
    config, rules = yaml.safe_load(data["prometheus.yml"]), yaml.safe_load(data["alerts.yml"])
    assert [rule["expr"] for rule in rules["groups"][0]["rules"]] == [a.expression for a in alerts("cabins-system")]
    kept = config["scrape_configs"][0]["relabel_configs"][0]
    assert kept["regex"] == "cabins;metrics"
    assert json.loads(named["ConfigMap", "cabins-dashboard"]["data"]["controllers.json"]) == dashboard("cabins")
    resources = yaml.safe_load(files["kustomization.yaml"])["resources"]
    assert {*resources, "kustomization.yaml"} == {*files}


def test_where_the_operator_runs_only_its_parts_are_made(tmp_path: Path) -> None:
    before = monitoring_files(SETTINGS, with_operator=False)
    write_files(tmp_path, before)

    removed = write_files(tmp_path, monitoring_files(SETTINGS, with_operator=True))

    assert {path.name for path in removed} == {"prometheus.yaml", "grafana.yaml"}
    rule = yaml.safe_load((tmp_path / "alerts.yaml").read_text())
    assert (rule["kind"], len(rule["spec"]["groups"][0]["rules"])) == ("PrometheusRule", len(alerts("x")))


def test_the_command_writes_them_without_asking_for_rights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = Path(__file__).parents[2] / "examples" / "cabins.py"

    status = manifests_command.main([str(program), "--monitoring", str(tmp_path)], standalone_mode=False)

    assert status == 0
    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "dashboard.yaml", "grafana.yaml", "kustomization.yaml", "prometheus.yaml",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="leave out --kustomize, --helm and --monitoring"):
        manifests_command.main([str(program), "--monitoring", str(tmp_path), "--check", "x"], standalone_mode=False)
