# SPDX-License-Identifier: Apache-2.0
"""The rights of a node's agent are those that it uses, and no others."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import attrs
import pytest
import yaml
from kit.manifests.manifests import ROOT

from controller_runtime.api.resources import LEASES
from controller_runtime.manager.rights import Right
from controller_runtime.rights import Recorder, compared, granted_by
from controller_runtime.testing import EmbeddedCluster, Simulation
from controllers.agent.agent import add_node_agent
from controllers.agent.machine import Machine
from controllers.agent.settings import Settings

FOLDER = ROOT / "config" / "node-agent"


@attrs.define
class AMachine:
    """Sees a machine whose disk is full every other time."""

    available: int = 0

    def observe(self) -> Machine:
        self.available = 10**9 - self.available
        return Machine(system="linux", architecture="amd64", cores=1, disk=10**9, disk_available=self.available)


def documents() -> list[dict[str, Any]]:
    return [d for file in sorted(FOLDER.glob("*.yaml")) for d in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


def test_the_agent_asks_for_what_its_roles_allow_and_uses_all_of_it(simulation: Simulation) -> None:
    recorder = Recorder()
    with recorder.recording(), EmbeddedCluster(simulation.host("node")) as cluster:
        cluster.manager.declare(Right(LEASES, namespace="kube-node-lease"))
        add_node_agent(cluster.manager, AMachine(), Settings(name="n", pressure_hold=0.0))
        cluster.start()
        simulation.advance(600.0)

    differences = compared(recorder.take(), granted_by(documents()))
    assert (differences.missing, differences.unused) == ([], [])


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
