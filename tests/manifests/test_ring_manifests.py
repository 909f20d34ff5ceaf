# SPDX-License-Identifier: Apache-2.0
"""The manifests of a program that shares its work: replicas of a ring have exactly the rights that they need."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml
from kit.manifests.bundles import chart_data
from kit.manifests.go_templates import render

from apimachinery.system import SystemHost
from controller_runtime import Client, Controller, Lister, Manager, ObjectKey, Reconciler, Request, Result
from controller_runtime.errors import UsageError
from controller_runtime.manifests.bundles import Bundle
from controller_runtime.manifests.chart import chart
from controller_runtime.manifests.deployment import arguments
from controller_runtime.manifests.facts import facts_of, require_shared, unconnected_manager
from controller_runtime.manifests.rights import Rights
from controller_runtime.manifests.settings import plain_settings
from controller_runtime.manifests.text import ABSENT
from controller_runtime.program.cli_manifests import ManifestOptions, run_manifests
from controller_runtime.program.origin import Origin
from controller_runtime.program.plan import RingPlan
from controller_runtime.program.sharing import share_work
from controller_runtime.resources import CONFIG_MAPS, LEASES, NODES
from controller_runtime.ring.by import RingBy
from controller_runtime.testing import EmbeddedCluster, Simulation

RIGHTS = Rights([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch", "patch"]}])


@attrs.frozen
class Marker(Reconciler):
    """Writes into each node that it was seen."""

    nodes: Lister[dict[str, Any]]
    client: Client

    def reconcile(self, request: Request) -> Result:
        if self.nodes.get(request) is not None:
            self.client.patch(NODES, request, {"metadata": {"annotations": {"seen": "yes"}}})
        return Result()


def setup(manager: Manager) -> None:
    nodes = manager.lister(NODES, dict[str, Any])
    manager.add(Controller("marks", Marker(nodes, manager.client)).watch(NODES).shareable(nodes))


def bundle(by: RingBy = RingBy.NAME, *, elects: bool = False) -> Bundle:
    manager = unconnected_manager(SystemHost())
    setup(manager)
    settings = plain_settings("huts", namespace="huts-system", image="huts:1.0", replicas=3)
    return Bundle(facts_of(manager), attrs.evolve(settings, ring_by=by, elects=elects), RIGHTS)


def works(simulation: Simulation, name: str, objects: list[dict[str, Any]], by: RingBy) -> bool:
    """Run a replica with these rights for a while; whether it did its work."""
    with EmbeddedCluster(simulation.host(name), role=objects) as cluster:
        setup(cluster.manager)
        share_work(cluster.manager, RingPlan("huts", "huts-system", by))
        cluster.user.create(NODES, {"metadata": {"name": "n"}})
        cluster.start()
        simulation.advance(25.0)
        return "annotations" in cluster.user.get(NODES, ObjectKey("n"), dict)["metadata"]


@pytest.mark.parametrize("by", [RingBy.NAME, RingBy.OWNER], ids=str)
def test_a_replica_of_a_ring_works_with_the_rights_of_its_manifests(
    simulation: Simulation, by: RingBy, caplog: pytest.LogCaptureFixture
) -> None:
    rights = [one for one in bundle(by).objects() if one["apiVersion"].startswith("rbac.")]

    assert works(simulation, "pod", rights, by)
    assert caplog.messages == []
    roles = {one["metadata"]["name"] for one in rights if one["kind"].endswith("Role")}
    assert roles == {"huts", "huts-ring", *(["huts-ring-objects"] if by is RingBy.OWNER else [])}


@pytest.mark.scenario("RG-16")
def test_without_one_of_its_rules_a_replica_names_the_role_to_apply(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    rights = [one for one in bundle().objects() if one["apiVersion"].startswith("rbac.")]
    number = next(at for at, one in enumerate(rights) if one["kind"] == "Role")

    for at, rule in enumerate(rights[number]["rules"]):
        caplog.clear()
        fewer = copy.deepcopy(rights)
        del fewer[number]["rules"][at]
        assert not works(simulation, f"pod-{at}", fewer, RingBy.NAME)
        refused = [line for line in caplog.messages if "is forbidden" in line]
        assert refused
        for line in refused:
            assert f'resource \\"{rule["resources"][0]}' in line
            assert "needs the Role huts-ring in the namespace huts-system, which `python -m contr" in line


def test_the_replicas_of_a_ring_run_at_once_and_elect_a_leader_only_for_what_is_not_shared() -> None:
    given = arguments(bundle(RingBy.OWNER).settings)

    place = ["--leader-election-id=huts", "--leader-election-namespace=$(POD_NAMESPACE)"]
    assert [one for one in given if one is not ABSENT][:4] == ["--ring", "--ring-by=owner", *place]
    assert "--leader-elect" in arguments(bundle(elects=True).settings)
    [deployment] = [one for one in bundle().objects() if one["kind"] == "Deployment"]
    assert "strategy" not in deployment["spec"]
    assert deployment["spec"]["replicas"] == 3


@pytest.mark.parametrize("elects", [False, True], ids=["all is shared", "something is not"])
def test_a_chart_of_a_ring_is_by_default_the_plain_manifests(*, elects: bool) -> None:
    made = bundle(RingBy.UID, elects=elects)
    files = dict(chart(made))
    data = chart_data(files, "huts", "huts-system", {})
    texts = [render(text, data) for name, text in files.items() if name.startswith("templates/")]
    found = [one for text in texts for one in yaml.safe_load_all(text) if one and one["kind"] in ("Role", "Deployment")]

    def essence(objects: list[dict[str, Any]]) -> list[Any]:
        return [one.get("rules") or (one["spec"]["replicas"], one["spec"]["template"]["spec"]["containers"][0]["args"])
                for one in sorted(objects, key=lambda one: (one["kind"], one["metadata"]["name"]))]  # fmt: skip

    assert essence(found) == essence([one for one in made.objects() if one["kind"] in ("Role", "Deployment")])
    assert "leaderElection" not in files["values.yaml"]


def test_a_program_that_shares_nothing_has_no_manifests_of_a_ring() -> None:
    manager = unconnected_manager(SystemHost())
    manager.add(Controller("whole", Marker(manager.lister(NODES, dict), manager.client)).watch(NODES))

    with pytest.raises(UsageError, match="--ring has nothing to share: call `shareable` of whole if each of its"):
        require_shared(facts_of(manager))


def test_the_command_makes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = dict.fromkeys(("kustomize", "helm", "monitoring", "name", "namespace"))
    run_manifests(
        Origin.parse(f"{__file__}:setup"),
        ManifestOptions(
            **options, check=False, files=(), image="huts:1", replicas=2, ring=True, ring_by="name",
            watch_namespace="", webhook_from=(), rights=(), no_rights=True, service_monitor=False,
            allow_breaking=False, kubeconfig=None, context=None,
        ),
    )  # fmt: skip
    made = [*yaml.safe_load_all(capsys.readouterr().out)]

    names = {one["metadata"]["name"] for one in made if one["kind"] == "Role"}
    assert names == {"test-ring-manifests-ring"}
    [rules] = [one["rules"] for one in made if one["kind"] == "Role"]
    assert {rule["resources"][0] for rule in rules} == {CONFIG_MAPS.plural, LEASES.plural}
