# SPDX-License-Identifier: Apache-2.0
"""The rights of a node's agent are those that it uses, and no others."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import attrs
import pytest
import yaml
from kit.manifests import ROOT, Right

from controller_runtime.api.http import HTTPRequest
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.core.stop import Stop, spawn
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import EmbeddedCluster, RecordingTransport, Simulation
from controllers.agent.agent import add_node_agent
from controllers.agent.machine import Machine
from controllers.agent.settings import Settings

FOLDER = ROOT / "config" / "node-agent"
LEASES = "coordination.k8s.io"


@attrs.define
class AMachine:
    """Sees a machine whose disk is full every other time."""

    available: int = 0

    def observe(self) -> Machine:
        self.available = 10**9 - self.available
        return Machine(system="linux", architecture="amd64", cores=1, disk=10**9, disk_available=self.available)


def documents() -> list[dict[str, Any]]:
    return [d for file in sorted(FOLDER.glob("*.yaml")) for d in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


def granted() -> set[Right]:
    rules = [rule for d in documents() if d["kind"] in ("Role", "ClusterRole") for rule in d["rules"]]
    return {(g, r, v) for rule in rules for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}


def right_of(request: HTTPRequest) -> Right:
    """Returns the right that an API server requires for the request."""
    parts = request.path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    rest = rest[2:] if rest[0] == "namespaces" else rest
    resource = "/".join([rest[0], *rest[2:]])
    verbs = {"POST": "create", "PUT": "update", "PATCH": "patch"}
    if request.method != "GET":
        return group, resource, verbs[request.method]
    watches = dict(request.query).get("watch") in ("1", "true")
    return group, resource, "get" if len(rest) > 1 else "watch" if watches else "list"


def test_the_agent_asks_for_what_its_roles_allow_and_uses_all_of_it(simulation: Simulation) -> None:
    server = EmbeddedCluster(simulation.host("server"))
    host = simulation.host("node")
    transport = RecordingTransport(InProcessTransport(host, server.server))
    manager = Manager(host, transport)
    add_node_agent(manager, AMachine(), Settings(name="n", pressure_hold=0.0))
    stop = Stop(host)
    thread = spawn(host, stop, "manager", lambda: manager.run(stop))
    simulation.advance(600.0)
    stop.set()
    thread.join_until(None)

    asked = {right_of(request) for request in transport.requests}

    # A list is asked for only where there is no streamed one.
    assert asked | {("", "nodes", "list")} == granted()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_makes_one_whole_of_it() -> None:
    done = subprocess.run(["kubectl", "kustomize", str(FOLDER)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    objects = [*yaml.safe_load_all(done.stdout)]
    assert {(o["kind"], o["metadata"].get("namespace")) for o in objects} == {
        ("ServiceAccount", "controllers-system"),
        ("ClusterRole", None),
        ("ClusterRoleBinding", None),
        ("Role", "kube-node-lease"),
        ("RoleBinding", "kube-node-lease"),
    }
    (account,) = [o for o in objects if o["kind"] == "ServiceAccount"]
    subjects = [s for o in objects if o["kind"].endswith("Binding") for s in o["subjects"]]
    assert {(s["name"], s["namespace"]) for s in subjects} == {(account["metadata"]["name"], "controllers-system")}


def test_the_kustomization_names_every_file() -> None:
    kustomization = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))

    assert sorted(kustomization["resources"]) == sorted(
        f.name for f in FOLDER.glob("*.yaml") if f.name != "kustomization.yaml"
    )
