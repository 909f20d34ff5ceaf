# SPDX-License-Identifier: Apache-2.0
"""The manifests parse, grant the needed rights and no more, and start commands that the command line knows."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kit.manifests.manifests import ROOT, Right

from controller_runtime.api.resources import NAMESPACES, NODES
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.lifecycle import CANCEL_GRACE
from controller_runtime.rights import Access, Recorder, compared, granted_by
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node
from controllers.command import catalog, cli, run

CONFIG = ROOT / "config"
FILES = sorted(CONFIG.glob("*.yaml"))


CORE, LEASES, EVENTS = "", "coordination.k8s.io", "events.k8s.io"

# Each right has its user. Controllers are named by their option; their reads and writes are in their guides.
NEEDED: dict[Right, str] = {
    (CORE, "nodes", "get"): "node-ttl",
    (CORE, "nodes", "list"): "node-ttl",
    (CORE, "nodes", "watch"): "node-ttl",
    (CORE, "nodes", "patch"): "node-ttl",
    (LEASES, "leases", "get"): "leader election",
    (LEASES, "leases", "create"): "leader election",
    (LEASES, "leases", "update"): "leader election",
    (CORE, "events", "create"): "event recorder",
    (CORE, "events", "patch"): "event recorder",
    (EVENTS, "events", "create"): "event recorder",
    (EVENTS, "events", "patch"): "event recorder",
}


def documents() -> Iterator[dict[str, Any]]:
    for file in FILES:
        yield from yaml.safe_load_all(file.read_text(encoding="utf-8"))


def the(kind: str, name: str) -> dict[str, Any]:
    """The one object of that kind and name."""
    found = [d for d in documents() if d["kind"] == kind and d["metadata"]["name"] == name]
    assert len(found) == 1, f"{kind} {name}"
    return found[0]


def granted() -> set[Right]:
    rules = [rule for d in documents() if d["kind"] in ("Role", "ClusterRole") for rule in d["rules"]]
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def container() -> dict[str, Any]:
    spec = the("Deployment", "controllers")["spec"]["template"]["spec"]
    (only,) = spec["containers"]
    return {**only, "pod": spec}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_file_holds_objects(file: Path) -> None:
    assert all({"apiVersion", "kind"} <= set(d) for d in yaml.safe_load_all(file.read_text(encoding="utf-8")))


def test_the_kustomization_names_every_file() -> None:
    kustomization = yaml.safe_load((CONFIG / "kustomization.yaml").read_text(encoding="utf-8"))

    assert sorted(kustomization["resources"]) == [f.name for f in FILES if f.name != "kustomization.yaml"]


def test_every_rule_is_needed_by_somebody_and_everybody_has_what_they_need() -> None:
    assert granted() == set(NEEDED)
    assert not any("*" in right for right in granted())


def test_the_controllers_that_need_rights_are_those_that_run() -> None:
    (names,) = [a.partition("=")[2] for a in container()["args"] if a.startswith("--controllers=")]

    assert set(NEEDED.values()) == {
        *catalog.select_controllers(names, embedded=False),
        "leader election",
        "event recorder",
    }


@pytest.mark.parametrize("name", sorted(set(NEEDED.values()) & set(catalog.CATALOG)))
def test_the_rights_of_a_controller_are_those_of_its_guide(name: str) -> None:
    guide = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    row = re.search(r"^\| rights \| (.*) \|$", guide, re.MULTILINE)

    assert row is not None
    wanted = {
        (resource, verb.strip())
        for part in row[1].split(";")
        for resource, _, verbs in [part.strip().partition(": ")]
        for verb in verbs.split(",")
    }
    assert wanted == {(resource, verb) for (_, resource, verb), who in NEEDED.items() if who == name}


def test_nothing_is_asked_of_the_server_that_the_roles_do_not_allow(simulation: Simulation) -> None:
    election = LeaderElectionConfig(name="controllers", namespace="controllers-system")
    recorder = Recorder()
    with recorder.recording(), EmbeddedCluster(simulation.host("replica"), leader_election=election) as cluster:
        cluster.user.create(NAMESPACES, {"metadata": {"name": "controllers-system"}})
        for controller in catalog.build(cluster.manager, ["node-ttl"], workers=None):
            cluster.manager.add(controller)
        cluster.start()
        for number in range(3):
            cluster.user.create(NODES, a_node(f"n{number}"))
        simulation.advance(3600.0)

    roles = [role for role in documents() if role["kind"] in ("Role", "ClusterRole")]
    for role in roles:
        if role["kind"] == "Role":
            role["metadata"]["namespace"] = "controllers-system"  # which kustomize sets
    asked = recorder.take()
    lease = Access("controllers-system", LEASES, "leases", "update", "controllers")
    assert {Access("", CORE, "nodes", "watch"), Access("", CORE, "nodes", "patch"), lease} <= asked
    assert compared(asked, granted_by(roles)).missing == []


def test_the_lease_that_the_role_names_is_the_one_that_is_asked_for() -> None:
    named = {
        name for rule in the("Role", "controllers-leader-election")["rules"] for name in rule.get("resourceNames", [])
    }
    (option,) = [p for p in cli.run_command.params if "--leader-election-id" in p.opts]

    assert not any("--leader-election-id" in argument for argument in container()["args"])
    assert named == {"controllers"}
    assert "the program's by default" in (option.help or "")  # type: ignore[attr-defined]
    assert run.plan(run.RunOptions(leader_elect=True), in_cluster=False).leader_election.name == "controllers"  # type: ignore[union-attr]


def test_the_arguments_are_those_of_the_command() -> None:
    command, *arguments = container()["args"]
    options = {name for p in cli.run_command.params for name in p.opts}

    assert command == "run"
    assert {argument.partition("=")[0] for argument in arguments} <= options
    assert "--leader-elect" in arguments


def test_the_probes_ask_where_the_command_serves_them() -> None:
    only = container()
    ports = {port["name"]: port["containerPort"] for port in only["ports"]}
    arguments = dict(argument.split("=") for argument in only["args"] if "=" in argument)

    assert arguments["--metrics-bind-address"] == f":{ports['metrics']}"
    assert arguments["--health-probe-bind-address"] == f":{ports['probes']}"
    assert (only["livenessProbe"]["httpGet"]["path"], only["readinessProbe"]["httpGet"]["path"]) == (
        "/livez",
        "/readyz",
    )


def test_the_pod_may_do_as_little_as_possible() -> None:
    only = container()

    assert only["pod"]["securityContext"]["runAsNonRoot"]
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert only["resources"]["requests"]
    assert only["resources"]["limits"]["memory"]
    assert the("Deployment", "controllers")["spec"]["replicas"] == 2
    assert only["pod"]["terminationGracePeriodSeconds"] > run.GRACE + 3 * CANCEL_GRACE


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_makes_one_whole_of_it() -> None:
    done = subprocess.run(["kubectl", "kustomize", str(CONFIG)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    objects = [*yaml.safe_load_all(done.stdout)]
    namespaced = [o for o in objects if o["kind"] not in ("Namespace", "ClusterRole", "ClusterRoleBinding")]
    assert {o["metadata"]["namespace"] for o in namespaced} == {"controllers-system"}
    subjects = [s for o in objects if o["kind"].endswith("Binding") for s in o["subjects"]]
    assert {s["namespace"] for s in subjects} == {"controllers-system"}
