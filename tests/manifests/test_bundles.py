# SPDX-License-Identifier: Apache-2.0
"""The manifests of a program are what a server takes, and as safe as its rights allow."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml
from cabins import Cabin, CabinSpec, CabinStatus, setup
from kit.manifests.bundles import DATA, IMAGE, RIGHTS, cabins_bundle, difficult_bundle

from controller_runtime import LeaderElectionConfig, ObjectKey, ObjectMeta
from controller_runtime.api.resources import Resource
from controller_runtime.errors import Forbidden
from controller_runtime.manager.lifecycle import CANCEL_GRACE
from controller_runtime.manifests.bundles import Bundle, image_parts, kustomization, yaml_of
from controller_runtime.manifests.deployment import arguments
from controller_runtime.manifests.files import write_files
from controller_runtime.manifests.rights import read_rights
from controller_runtime.manifests.settings import GRACE
from controller_runtime.program.cli_options import program_options
from controller_runtime.program.program import CLUSTER_GRACE
from controller_runtime.resources import DEPLOYMENTS, NAMESPACES, PODS
from controller_runtime.ring.by import RingBy
from controller_runtime.testing import EmbeddedCluster, Simulation

CABINS = cabins_bundle(read_rights([RIGHTS]))


def the(kind: str, bundle: Bundle = CABINS) -> dict[str, Any]:
    [found] = [one for one in bundle.objects() if one["kind"] == kind]
    return found


def test_the_manifests_of_the_example_are_those_of_the_file() -> None:
    expected = (DATA / "cabins.yaml").read_text(encoding="utf-8")

    assert yaml_of(CABINS.objects()) == expected


@pytest.mark.parametrize("bundle", [CABINS, cabins_bundle(replicas=1)], ids=["two replicas", "one replica"])
def test_a_server_takes_every_object_without_a_warning(
    cluster: EmbeddedCluster, bundle: Bundle, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.user.create(NAMESPACES, {"metadata": {"name": "cabins-system"}})
    asking = cluster.user.writing(dry_run=True, field_manager="manifests")

    for obj in bundle.objects():
        group, _, version = obj["apiVersion"].rpartition("/")
        plural = {"NetworkPolicy": "networkpolicies"}.get(obj["kind"], f"{obj['kind'].lower()}s")
        namespaced = "namespace" in obj["metadata"]
        resource: Resource[dict[str, Any]] = Resource(group, version, obj["kind"], plural, namespaced)
        answer = asking.apply(resource, obj)
        assert answer.key == ObjectKey(obj["metadata"]["name"], obj["metadata"].get("namespace", ""))

    assert caplog.messages == []


def test_the_arguments_are_options_of_programs() -> None:
    def command() -> None: ...

    options = {name for option in program_options(command).__click_params__ for name in option.opts}
    settings = attrs.evolve(CABINS.settings, watch_namespace="huts", has_webhooks=True, ring_by=RingBy.NAME)
    given = arguments(settings)

    assert {argument.partition("=")[0] for argument in given} <= options
    assert "--namespace=huts" in given


def test_a_pod_has_longer_than_the_program_takes_to_end() -> None:
    pod = the("Deployment")["spec"]["template"]["spec"]

    assert f"--grace={GRACE}" in pod["containers"][0]["args"]
    assert GRACE == CLUSTER_GRACE
    assert pod["terminationGracePeriodSeconds"] > GRACE + 6 * CANCEL_GRACE + 4


def test_replicas_without_an_election_never_run_at_the_same_time() -> None:
    alone = cabins_bundle(replicas=1)

    assert the("Deployment", alone)["spec"]["strategy"] == {"type": "Recreate"}
    assert not [one for one in alone.objects() if one["metadata"]["name"].endswith("leader-election")]
    assert "strategy" not in the("Deployment")["spec"]


def test_probes_and_metrics_are_asked_for_where_the_program_serves_them() -> None:
    [container] = the("Deployment")["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}

    assert f"--metrics-bind-address=:{ports['metrics']}" in container["args"]
    assert f"--health-probe-bind-address=:{ports['probes']}" in container["args"]
    assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "probes"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "probes"}
    assert the("Service")["spec"]["ports"][0]["targetPort"] == "metrics"


def test_roles_stand_where_the_record_has_them() -> None:
    found = {
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
        for one in difficult_bundle().objects()
        if one["kind"].endswith("Role")
    }

    assert found == {
        ("ClusterRole", None, "cabins"),
        ("Role", "huts", "cabins"),
        ("Role", "kube-system", "cabins"),
        ("Role", "huts", "cabins-leader-election"),
    }


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("cabins", ("cabins", "latest", "")),
        ("example.com/x:1.0", ("example.com/x", "1.0", "")),
        ("localhost:5000/x", ("localhost:5000/x", "latest", "")),
        ("localhost:5000/x:2@sha256:ab", ("localhost:5000/x", "2", "sha256:ab")),
        ("x@sha256:ab", ("x", "", "sha256:ab")),
    ],
)
def test_an_image_has_a_repository_and_a_tag_or_a_digest(image: str, parts: tuple[str, str, str]) -> None:
    assert image_parts(image) == parts


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("bundle", [CABINS, difficult_bundle()], ids=["cabins", "difficult texts"])
def test_kubectl_makes_the_plain_manifests_of_a_kustomization(tmp_path: Path, bundle: Bundle) -> None:
    write_files(tmp_path, kustomization(bundle))

    done = subprocess.run(["kubectl", "kustomize", str(tmp_path)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    made = {(one["kind"], str(one["metadata"])): one for one in yaml.safe_load_all(done.stdout)}
    assert made == {(one["kind"], str(dict(sorted(one["metadata"].items())))): one for one in bundle.objects()}
    assert IMAGE in done.stdout


def test_the_program_works_with_the_rights_of_its_manifests_and_no_others(simulation: Simulation) -> None:
    rights = [one for one in CABINS.objects() if one["apiVersion"].startswith("rbac.")]
    lease = LeaderElectionConfig(name="cabins", namespace="cabins-system")
    with EmbeddedCluster(simulation.host("pod"), role=rights, leader_election=lease) as cluster:
        cluster.run(setup)
        cluster.user.create(Cabin(CabinSpec(3), metadata=ObjectMeta(name="hut", namespace="default")))
        simulation.settle()

        assert cluster.acts_as == "system:serviceaccount:cabins-system:cabins"
        assert cluster.manager.elector is not None
        assert cluster.manager.elector.is_leader()
        hut = ObjectKey("hut", "default")
        assert cluster.user.get(DEPLOYMENTS, hut, dict)["spec"]["replicas"] == 3
        assert cluster.user.get(Cabin, hut).status == CabinStatus(0)
        with pytest.raises(Forbidden):
            cluster.client.list(PODS)
