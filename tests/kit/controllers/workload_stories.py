# SPDX-License-Identifier: Apache-2.0
"""The acts of a user of workloads, step by step, as data: played against a real controller manager and against ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from controller_runtime.api.builtin_resources import (
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
)
from controller_runtime.api.resources import PODS, Resource

Body = dict[str, Any]


class Step(NamedTuple):
    """One act of the user, after which everything comes to rest.

    Attributes:
        verb: `create`, `patch`, `delete`, or `wait` to do nothing.
        resource: The collection.
        name: The name of the object; that of a pod may be `first OWNER`, the owner's pod on the first node.
        body: The object, or a merge patch.
        seconds: The time that it takes, beyond which nothing happens for a while.
    """

    verb: str
    resource: Resource[Any] = PODS
    name: str = ""
    body: Body | None = None
    seconds: float = 0.0


def template(image: str = "app:1", *, policy: str = "", annotations: Mapping[str, str] | None = None) -> Body:
    """Return a pod template."""
    metadata: Body = {"labels": {"app": "web"}}
    if annotations:
        metadata["annotations"] = dict(annotations)
    spec: Body = {"containers": [{"name": "main", "image": image}], "terminationGracePeriodSeconds": 1}
    if policy:
        spec["restartPolicy"] = policy
    return {"metadata": metadata, "spec": spec}


def workload(name: str = "web", replicas: int | None = 3, *, image: str = "app:1", **spec: Any) -> Body:
    """Return a Deployment, ReplicaSet, StatefulSet or DaemonSet (without replicas)."""
    selector = {"selector": {"matchLabels": {"app": "web"}}}
    counted = {} if replicas is None else {"replicas": replicas}
    made = {**counted, **selector, "template": template(image), **spec}
    return {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": made}


def image(name: str) -> Body:
    """Return a patch that sets the image."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name}]}}}}


def job(**spec: Any) -> Body:
    """Return a Job whose pods end well after a second."""
    annotations = spec.pop("annotations", {"hollow/runs-for": "1"})
    policy = spec.pop("policy", "Never")
    made = {**spec, "template": template(policy=policy, annotations=annotations)}
    return {"metadata": {"name": "work"}, "spec": made}


FAILS = {"hollow/runs-for": "1", "hollow/exit-code": "3"}
ENDLESS = {"hollow/runs-for": "never"}
NEVER_READY = {"hollow/ready-after": "never"}

SERVICE: Body = {
    "metadata": {"name": "web", "labels": {"of": "web"}},
    "spec": {
        "clusterIP": "None",
        "selector": {"app": "web"},
        "ports": [{"name": "http", "port": 80, "targetPort": 8080}, {"name": "more", "port": 81}],
    },
}

STORIES: Mapping[str, Sequence[Step]] = {
    "replica set": [
        Step("create", REPLICA_SETS, "web", workload()),
        Step("delete", PODS, "first web"),
        Step("patch", REPLICA_SETS, "web", {"spec": {"replicas": 1}}),
        Step("patch", PODS, "first web", {"metadata": {"labels": {"app": "other"}}}),
        Step("patch", PODS, "first orphan", {"metadata": {"labels": {"app": "web"}}}),
        Step("delete", REPLICA_SETS, "web"),
    ],
    "replica set that waits until pods have been ready for a while": [
        Step("create", REPLICA_SETS, "web", workload(replicas=2, minReadySeconds=3), 5.0),
    ],
    "deployment rolls": [
        Step("create", DEPLOYMENTS, "web", workload()),
        Step("patch", DEPLOYMENTS, "web", image("app:2")),
        Step("patch", DEPLOYMENTS, "web", {"spec": {"replicas": 5}}),
        Step("patch", DEPLOYMENTS, "web", image("app:1")),
        Step("delete", DEPLOYMENTS, "web"),
    ],
    "deployment with bounds": [
        Step(
            "create",
            DEPLOYMENTS,
            "web",
            workload(
                replicas=10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}, revisionHistoryLimit=1
            ),
        ),
        Step("patch", DEPLOYMENTS, "web", image("app:2")),
        Step("patch", DEPLOYMENTS, "web", image("app:3")),
        Step("patch", DEPLOYMENTS, "web", {"spec": {"replicas": 0}}),
    ],
    "deployment that never gets ready": [
        Step("create", DEPLOYMENTS, "web", workload(replicas=4, progressDeadlineSeconds=5)),
        Step(
            "patch",
            DEPLOYMENTS,
            "web",
            {"spec": {"template": {"metadata": {"annotations": NEVER_READY}}}},
            8.0,
        ),
        Step("patch", DEPLOYMENTS, "web", {"spec": {"replicas": 8}}),
        Step("patch", DEPLOYMENTS, "web", {"spec": {"template": {"metadata": {"annotations": None}}}}),
    ],
    "deployment recreated": [
        Step("create", DEPLOYMENTS, "web", workload(replicas=2, strategy={"type": "Recreate"})),
        Step("patch", DEPLOYMENTS, "web", image("app:2")),
    ],
    "deployment paused": [
        Step("create", DEPLOYMENTS, "web", workload(replicas=2)),
        Step("patch", DEPLOYMENTS, "web", {"spec": {"paused": True}}),
        Step("patch", DEPLOYMENTS, "web", image("app:2")),
        Step("patch", DEPLOYMENTS, "web", {"spec": {"replicas": 4}}),
        Step("patch", DEPLOYMENTS, "web", {"spec": {"paused": False}}),
    ],
    "stateful set": [
        Step("create", STATEFUL_SETS, "web", workload(serviceName="web")),
        Step("delete", PODS, "web-1"),
        Step("patch", STATEFUL_SETS, "web", image("app:2")),
        Step("patch", STATEFUL_SETS, "web", {"spec": {"replicas": 1}}),
        Step("patch", STATEFUL_SETS, "web", image("app:1")),
        Step("delete", STATEFUL_SETS, "web"),
    ],
    "stateful set with claims": [
        Step(
            "create",
            STATEFUL_SETS,
            "web",
            workload(
                replicas=2,
                serviceName="web",
                volumeClaimTemplates=[
                    {
                        "metadata": {"name": "data"},
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                    }
                ],
                persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete", "whenDeleted": "Retain"},
            ),
        ),
        Step("patch", STATEFUL_SETS, "web", {"spec": {"replicas": 1}}),
        Step("delete", STATEFUL_SETS, "web"),
    ],
    "stateful set with partition": [
        Step(
            "create",
            STATEFUL_SETS,
            "web",
            workload(
                serviceName="web",
                podManagementPolicy="Parallel",
                updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
                ordinals={"start": 5},
            ),
        ),
        Step("patch", STATEFUL_SETS, "web", image("app:2")),
        Step("patch", STATEFUL_SETS, "web", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}),
        Step("patch", STATEFUL_SETS, "web", {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}}),
        Step("patch", STATEFUL_SETS, "web", image("app:3")),
        Step("delete", PODS, "web-6"),
    ],
    "stateful set that never gets ready": [
        Step("create", STATEFUL_SETS, "web", workload(serviceName="web")),
        Step("patch", STATEFUL_SETS, "web", {"spec": {"template": {"metadata": {"annotations": NEVER_READY}}}}),
        Step("patch", STATEFUL_SETS, "web", {"spec": {"replicas": 2}}),
    ],
    "daemon set": [
        Step("create", DAEMON_SETS, "web", workload(replicas=None)),
        Step("patch", DAEMON_SETS, "web", image("app:2")),
        Step(
            "patch",
            DAEMON_SETS,
            "web",
            {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": "hollow-00001"}}}}},
        ),
        Step("delete", DAEMON_SETS, "web"),
    ],
    "daemon set updated by hand": [
        Step("create", DAEMON_SETS, "web", workload(replicas=None, updateStrategy={"type": "OnDelete"})),
        Step("patch", DAEMON_SETS, "web", image("app:2")),
        Step("delete", PODS, "first web"),
    ],
    "service": [
        Step("create", SERVICES, "web", SERVICE),
        Step("create", DEPLOYMENTS, "web", workload(replicas=2)),
        Step("patch", DEPLOYMENTS, "web", {"spec": {"replicas": 3}}),
        Step(
            "patch",
            DEPLOYMENTS,
            "web",
            {"spec": {"template": {"metadata": {"annotations": {"hollow/ready-after": "never"}}}}},
        ),
        Step("patch", SERVICES, "web", {"spec": {"publishNotReadyAddresses": True}}),
        Step("delete", DEPLOYMENTS, "web"),
        Step("delete", SERVICES, "web"),
    ],
    "job": [Step("create", JOBS, "work", job(completions=3, parallelism=2), 6.0)],
    "job that fails": [Step("create", JOBS, "work", job(backoffLimit=1, annotations=FAILS), 30.0)],
    "job indexed": [
        Step("create", JOBS, "work", job(completions=3, parallelism=3, completionMode="Indexed"), 6.0),
        Step("delete", JOBS, "work"),
    ],
    "job suspended": [
        Step("create", JOBS, "work", job(suspend=True, annotations=ENDLESS)),
        Step("patch", JOBS, "work", {"spec": {"suspend": False}}),
        Step("patch", JOBS, "work", {"spec": {"suspend": True}}),
    ],
    "job with a deadline": [Step("create", JOBS, "work", job(activeDeadlineSeconds=3, annotations=ENDLESS), 8.0)],
    "job that is cleaned up": [Step("create", JOBS, "work", job(ttlSecondsAfterFinished=2), 12.0)],
    "job whose pods restart": [
        Step("create", JOBS, "work", job(backoffLimit=1, policy="OnFailure", annotations=FAILS), 45.0)
    ],
    "cron job": [
        Step(
            "create",
            CRON_JOBS,
            "tick",
            {
                "metadata": {"name": "tick"},
                "spec": {
                    "schedule": "* * * * *",
                    "successfulJobsHistoryLimit": 1,
                    "jobTemplate": {"spec": job()["spec"]},
                },
            },
            195.0,
        ),
        Step("patch", CRON_JOBS, "tick", {"spec": {"suspend": True}}),
        Step("delete", CRON_JOBS, "tick"),
    ],
}
