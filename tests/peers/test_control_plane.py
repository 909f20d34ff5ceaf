# SPDX-License-Identifier: Apache-2.0
"""Unmodified kube-controller-manager and kube-scheduler on the embedded server, over nodes without machines.

`KUBE_CONTROLLER_MANAGER` and `KUBE_SCHEDULER` are the paths of the two programs; without them these tests are skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from controller_runtime import SystemHost
from controller_runtime.testing import APIServerProcess

PROGRAMS = ("KUBE_CONTROLLER_MANAGER", "KUBE_SCHEDULER")
WORKLOADS = Path(__file__).parent / "data" / "workloads.yaml"
NODES = 3
QUIET = ("--leader-elect=false", "--secure-port=0")
NO_METRICS = "/apis/metrics.k8s.io/"
"""The API that a metrics server would serve; the autoscaler asks for it every 15 s on each cluster without one."""
BEYOND_THE_QUOTA = ("create", "/api/v1/namespaces/tight/pods", 403)
"""Three of the five pods of `many` are refused again and again, at growing intervals, as on each cluster."""
RETRIES = 8
"""The most refusals of one request that count as an end: a write against an older version, while controllers start."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
    *(pytest.mark.skipif(name not in os.environ, reason=f"{name} does not name the program") for name in PROGRAMS),
]


@attrs.frozen
class Cluster:
    """A server, its controllers, a scheduler and nodes, with the workloads applied."""

    kubeconfig: Path
    audit_log: Path

    def kubectl(self, *arguments: str) -> str:
        """Return what kubectl prints; it fails the test if kubectl fails."""
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), *arguments]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)
        assert outcome.returncode == 0, f"{' '.join(arguments)}: {outcome.stderr}"
        return outcome.stdout

    def wait(self, what: str, *objects: str, seconds: int = 60) -> None:
        """Wait until objects are as kubectl's `--for` says."""
        self.kubectl("wait", f"--for={what}", f"--timeout={seconds}s", *objects)

    def refusals(self) -> Counter[tuple[str, str, int]]:
        """Return how often each request of the two programs was refused."""
        counted: Counter[tuple[str, str, int]] = Counter()
        for line in self.audit_log.read_text().splitlines():
            event = json.loads(line)
            code = event.get("responseStatus", {}).get("code", 0)
            if code >= 400 and event["userAgent"].startswith(("kube-controller-manager", "kube-scheduler")):
                counted[event["verb"], event["requestURI"].partition("?")[0], code] += 1
        return counted


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("control-plane")
    audit_log = folder / "audit.log"
    server = APIServerProcess(SystemHost(), "--audit-log-path", str(audit_log), program=("controllers", "apiserver"))
    with contextlib.ExitStack() as stack:
        stack.enter_context(server)
        kubeconfig = str(server.kubeconfig)
        manager, scheduler = (os.environ[name] for name in PROGRAMS)
        for name, command in {
            "nodes": [sys.executable, "-m", "controllers", "hollow-nodes", "--count", str(NODES)],
            "controllers": [manager, "--controllers=*", *QUIET],
            "scheduler": [scheduler, *QUIET],
        }.items():
            log = stack.enter_context((folder / f"{name}.log").open("w"))
            process = subprocess.Popen([*command, "--kubeconfig", kubeconfig], stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        made = Cluster(server.kubeconfig, audit_log)
        made.kubectl("apply", "-f", str(WORKLOADS))
        yield made


def test_a_deployment_runs_within_the_bounds_of_its_autoscaler(cluster: Cluster) -> None:
    cluster.wait("jsonpath={.status.readyReplicas}=4", "deployment/web", seconds=90)

    cluster.wait("condition=AbleToScale", "hpa/web")
    cluster.wait("jsonpath={.status.disruptionsAllowed}=1", "pdb/web")


def test_the_slices_of_a_service_have_the_addresses_of_its_pods(cluster: Cluster) -> None:
    cluster.wait("jsonpath={.status.readyReplicas}=4", "deployment/web", seconds=90)
    cluster.wait("jsonpath={.endpoints[3].conditions.ready}=true", "endpointslice", "-l=kubernetes.io/service-name=web")

    pods = cluster.kubectl("get", "pods", "-l=app=web", "-o=jsonpath={.items[*].status.podIP}")
    path = "-o=jsonpath={.items[*].endpoints[*].addresses[*]}"
    slices = cluster.kubectl("get", "endpointslice", "-l=kubernetes.io/service-name=web", path)
    assert set(slices.split()) == set(pods.split())
    assert len(set(pods.split())) == 4


def test_a_daemon_runs_on_each_node(cluster: Cluster) -> None:
    cluster.wait(f"jsonpath={{.status.numberReady}}={NODES}", "daemonset/agent")

    nodes = cluster.kubectl("get", "pods", "-l=app=agent", "-o=jsonpath={.items[*].spec.nodeName}")
    assert len(set(nodes.split())) == NODES


def test_a_stateful_set_gets_its_claims_bound(cluster: Cluster) -> None:
    cluster.wait("jsonpath={.status.readyReplicas}=2", "statefulset/db")

    claims = cluster.kubectl("get", "pvc", "-o=jsonpath={.items[*].metadata.name} {.items[*].status.phase}")
    assert claims.split() == ["data-db-0", "data-db-1", "Bound", "Bound"]


def test_a_job_completes_and_one_with_a_time_to_live_goes(cluster: Cluster) -> None:
    cluster.wait("condition=complete", "job/once")
    assert cluster.kubectl("get", "job", "once", "-o=jsonpath={.status.succeeded}") == "3"

    cluster.wait("delete", "job/short")


def test_a_cron_job_starts_jobs(cluster: Cluster) -> None:
    cluster.wait("jsonpath={.status.lastSuccessfulTime}", "cronjob/often", seconds=120)


def test_a_quota_bounds_a_deployment(cluster: Cluster) -> None:
    cluster.wait("jsonpath={.status.readyReplicas}=2", "deployment/many", "-n=tight")
    cluster.wait("condition=ReplicaFailure", "deployment/many", "-n=tight")

    used = cluster.kubectl("get", "quota", "two", "-n=tight", "-o=jsonpath={.status.used.pods}")
    assert used == "2"


def test_what_a_deleted_deployment_owned_goes_after_it(cluster: Cluster) -> None:
    cluster.kubectl("create", "deployment", "gone", "--image=gone", "--replicas=2")
    cluster.wait("jsonpath={.status.readyReplicas}=2", "deployment/gone")
    cluster.kubectl("delete", "deployment", "gone")

    cluster.wait("delete", "replicaset", "-l=app=gone")
    cluster.wait("delete", "pod", "-l=app=gone")


def test_nothing_is_tried_again_forever(cluster: Cluster) -> None:
    cluster.wait("jsonpath={.status.lastSuccessfulTime}", "cronjob/often", seconds=120)

    often = {what: times for what, times in cluster.refusals().items() if times > RETRIES}
    expected = {what for what in often if what[1].startswith(NO_METRICS)} | {BEYOND_THE_QUOTA}
    assert often.keys() <= expected
