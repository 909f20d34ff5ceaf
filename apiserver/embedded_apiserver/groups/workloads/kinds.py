# SPDX-License-Identifier: Apache-2.0
"""The kinds that create pods: those of apps and batch, and replication controllers."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.workloads import (
    columns,
    cron_jobs,
    job_changes,
    job_status,
    jobs,
    revisions,
    stateful_sets,
    strategy,
    workloads,
)
from embedded_apiserver.kinds.checks import Checks, of_spec
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import Policy, changed

_ALL, _STATUS, _SCALED = ("all",), ("status",), ("scale", "status")
_REPLICAS = "replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration"
_FULL = "fullyLabeledReplicas readyReplicas availableReplicas"
_ORPHANED_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_counting = partial(Policy, status={}, generation=changed("spec"))
_of_template = strategy.template_warnings("spec", "template")

REPLICATION_CONTROLLER = Kind(
    group="",
    version="v1",
    kind="ReplicationController",
    plural="replicationcontrollers",
    place="controllers",
    template=("spec", "template"),
    short_names=("rc",),
    categories=_ALL,
    subresources=_SCALED,
    fields={"status.replicas": "0"},
    names_known_fields=False,
    policy=_counting(status={"replicas": 0}, dependents="Orphan", warnings=_of_template),
    checks=of_spec(workloads.replication_controller, status=workloads.counted(_REPLICAS, _FULL)),
    cells=columns.CONTROLLERS,
)

_apps = partial(Kind, group="apps", version="v1")
REPLICA_SET = _apps(
    kind="ReplicaSet",
    plural="replicasets",
    template=("spec", "template"),
    short_names=("rs",),
    categories=_ALL,
    subresources=_SCALED,
    policy=_counting(status={"replicas": 0}, warnings=_of_template),
    checks=of_spec(
        workloads.replica_set,
        workloads.same_selector,
        status=workloads.counted(f"{_REPLICAS} terminatingReplicas", _FULL),
    ),
    cells=columns.REPLICA_SETS,
)
DEPLOYMENT = _apps(
    kind="Deployment",
    plural="deployments",
    template=("spec", "template"),
    hidden_annotation="deprecated.deployment.rollback.to",
    short_names=("deploy",),
    categories=_ALL,
    subresources=_SCALED,
    policy=_counting(
        generation=strategy.is_other_deployment,
        freezes=("labels",),
        warnings=strategy.template_warnings("spec", "template", when=strategy.is_other_deployment),
    ),
    checks=of_spec(
        workloads.deployment,
        workloads.same_selector,
        status=workloads.counted(
            "observedGeneration replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas "
            "terminatingReplicas collisionCount",
            "updatedReplicas readyReplicas availableReplicas",
            collides=True,
        ),
    ),
    cells=columns.DEPLOYMENTS,
)
STATEFUL_SET = _apps(
    kind="StatefulSet",
    plural="statefulsets",
    template=("spec", "template"),
    short_names=("sts",),
    categories=_ALL,
    subresources=_SCALED,
    name_rule="label",
    policy=_counting(status={"availableReplicas": 0, "replicas": 0}, warnings=strategy.stateful_set_warnings),
    checks=Checks(
        stateful_sets.new_stateful_set,
        stateful_sets.stateful_set_change,
        workloads.counted(
            "replicas readyReplicas currentReplicas updatedReplicas availableReplicas observedGeneration "
            "collisionCount",
            "readyReplicas currentReplicas updatedReplicas availableReplicas",
            "status.readyReplicas",
            collides=True,
        ),
    ),
    cells=columns.STATEFUL_SETS,
)
DAEMON_SET = _apps(
    kind="DaemonSet",
    plural="daemonsets",
    template=("spec", "template"),
    hidden_annotation="deprecated.daemonset.template.generation",
    short_names=("ds",),
    categories=_ALL,
    subresources=_STATUS,
    policy=_counting(
        status={"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0},
        created=strategy.new_daemon_set,
        updated=strategy.updated_daemon_set,
        warnings=strategy.template_warnings("spec", "template", names_pods=False, when=strategy.has_new_template),
    ),
    checks=Checks(
        workloads.new_daemon_set,
        workloads.daemon_set_change,
        workloads.counted(
            "currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady observedGeneration "
            "updatedNumberScheduled numberAvailable numberUnavailable collisionCount",
            collides=True,
        ),
    ),
    cells=columns.DAEMON_SETS,
)
CONTROLLER_REVISION = _apps(
    kind="ControllerRevision",
    plural="controllerrevisions",
    metadata="uw",
    checks=Checks(revisions.revision, revisions.revision_change),
    cells=columns.REVISIONS,
)

_batch = partial(Kind, group="batch", version="v1", categories=_ALL, subresources=_STATUS)
CRON_JOB = _batch(
    kind="CronJob",
    plural="cronjobs",
    template=("spec", "jobTemplate", "spec", "template"),
    short_names=("cj",),
    policy=_counting(warnings=strategy.template_warnings("spec", "jobTemplate", "spec", "template")),
    status_metadata="",
    checks=Checks(cron_jobs.new_cron_job, cron_jobs.cron_job_change),
    cells=columns.CRON_JOBS,
)
JOB = _batch(
    kind="Job",
    plural="jobs",
    fields={"status.successful": "0"},
    field_paths={"status.successful": "status.succeeded"},
    unknown_field='field label "{}" not supported for Job',
    orphaning=_ORPHANED_PODS,
    template=("spec", "template"),
    policy=_counting(created=strategy.new_job, dependents="Orphan", warnings=_of_template),
    metadata="wu",
    checks=Checks(jobs.job, job_changes.job_change, job_status.job_status_change),
    cells=columns.JOBS,
)
KINDS = (
    *(REPLICATION_CONTROLLER, REPLICA_SET, DEPLOYMENT, STATEFUL_SET, DAEMON_SET, CONTROLLER_REVISION),
    *(CRON_JOB, JOB),
)
