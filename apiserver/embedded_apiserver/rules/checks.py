# SPDX-License-Identifier: Apache-2.0
"""The table from each built-in kind to the rules by which its objects are checked.

A real server checks an object when it is created, when it is changed, and when its status is; each has its own rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from embedded_apiserver.kinds import registry as kinds
from embedded_apiserver.kinds.checks import Change, Checks, nothing
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.causes import (
    claim_spec,
    claims,
    cron_jobs,
    data,
    hooks,
    job_changes,
    job_status,
    jobs,
    limits,
    mutating_policies,
    persistent_volumes,
    pod_changes,
    pod_parts,
    pod_status,
    pods,
    policies,
    service_addresses,
    services,
    small_kinds,
    traffic,
    workloads,
)
from embedded_apiserver.status import Cause


def _of_spec(rule: Callable[[Object], Iterable[Cause]], *changes: Change, status: Change = nothing) -> Checks:
    """Return the checks of a kind whose rules are all about its spec; an equal spec was checked when it was stored.

    Args:
        rule: Takes a spec.
        changes: Take the old and the new spec.
        status: The rule of a status.
    """

    def new(obj: Object) -> Iterable[Cause]:
        return rule(part(obj, "spec"))

    def change(old: Object, obj: Object) -> Iterator[Cause]:
        before, after = part(old, "spec"), part(obj, "spec")
        if before is after or before == after:
            return
        yield from rule(after)
        for one in changes:
            yield from one(before, after)

    return Checks(new, change, status)


def _counted(names: str, whole: str = "", ready: str = "readyReplicas", *, collides: bool = False) -> Change:
    """Return the rule of a status with counters; see `workloads.counts`."""

    def rule(old: Object, new: Object) -> Iterator[Cause]:
        yield from workloads.counts(part(new, "status"), names.split(), whole.split(), ready)
        if collides:
            yield from workloads.collisions(part(old, "status"), part(new, "status"))

    return rule


def _stateful_set_change(old: Object, new: Object) -> Iterator[Cause]:
    before, after = part(old, "spec"), part(new, "spec")
    if before != after:
        yield from workloads.stateful_set(after, is_new=False)
        yield from workloads.stateful_set_change(before, after)


def _daemon_set_change(old: Object, new: Object) -> Iterator[Cause]:
    before, after = part(old, "spec"), part(new, "spec")
    if before != after:
        yield from workloads.daemon_set_change(before, after)


def _service_change(old: Object, new: Object) -> Iterator[Cause]:
    if part(old, "spec") != part(new, "spec") or old["metadata"] != new["metadata"]:
        yield from service_addresses.address_change(old, new)
        yield from services.service(new, old)


def _job_change(old: Object, new: Object) -> Iterator[Cause]:
    if part(old, "spec") != part(new, "spec"):
        # A real server checks the whole job and then its spec once more.
        yield from jobs.job(new)
        yield from jobs.selected_job_spec(part(new, "spec"))
        yield from job_changes.job_change(old, new)


def _cron_job_change(old: Object, new: Object) -> Iterator[Cause]:
    if part(old, "spec") != part(new, "spec"):
        yield from cron_jobs.cron_job(part(new, "spec"), part(old, "spec"))


def _volume(obj: Object) -> Iterator[Cause]:
    yield from persistent_volumes.volume(obj)
    yield from persistent_volumes.mount_options(obj)


def _volume_change(old: Object, new: Object) -> Iterator[Cause]:
    has_changed = part(old, "spec") != part(new, "spec")
    found = list(persistent_volumes.volume(new)) if has_changed else []
    yield from (*found, *persistent_volumes.mount_options(new), *found)  # as often as on a real server
    if has_changed:
        yield from persistent_volumes.volume_change(old, new)


def _template_change(old: Object, new: Object) -> Iterable[Cause]:
    same = old.get("template") == new.get("template")
    return () if same else pods.pod_template(part(new, "template"), "template")


def _endpoints_change(old: Object, new: Object) -> Iterable[Cause]:
    return () if old.get("subsets") == new.get("subsets") else traffic.endpoints(new)


def _quota_status(old: Object, new: Object) -> Iterator[Cause]:
    for name in ("hard", "used"):
        yield from limits.quota_amounts(part(new, "status").get(name) or {}, f"status.{name}")


_REPLICAS = "replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration"
_FULL = "fullyLabeledReplicas readyReplicas availableReplicas"
_CHECKS: Mapping[Kind, Checks] = {
    kinds.POD: Checks(
        pods.new_pod,
        pod_changes.pod_change,
        pod_status.pod_status_change,
        parts={"ephemeralcontainers": pod_parts.ephemeral_containers, "resize": pod_parts.resize},
    ),
    kinds.POD_TEMPLATE: Checks(lambda obj: pods.pod_template(part(obj, "template"), "template"), _template_change),
    kinds.REPLICATION_CONTROLLER: _of_spec(workloads.replication_controller, status=_counted(_REPLICAS, _FULL)),
    kinds.REPLICA_SET: _of_spec(
        workloads.replica_set, workloads.same_selector, status=_counted(f"{_REPLICAS} terminatingReplicas", _FULL)
    ),
    kinds.DEPLOYMENT: _of_spec(
        workloads.deployment,
        workloads.same_selector,
        status=_counted(
            "observedGeneration replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas "
            "terminatingReplicas collisionCount",
            "updatedReplicas readyReplicas availableReplicas",
            collides=True,
        ),
    ),
    kinds.STATEFUL_SET: Checks(
        lambda obj: workloads.stateful_set(part(obj, "spec"), is_new=True),
        _stateful_set_change,
        _counted(
            "replicas readyReplicas currentReplicas updatedReplicas availableReplicas observedGeneration "
            "collisionCount",
            "readyReplicas currentReplicas updatedReplicas availableReplicas",
            "status.readyReplicas",
            collides=True,
        ),
    ),
    kinds.DAEMON_SET: Checks(
        lambda obj: workloads.daemon_set(part(obj, "spec")),
        _daemon_set_change,
        status=_counted(
            "currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady observedGeneration "
            "updatedNumberScheduled numberAvailable numberUnavailable collisionCount",
            collides=True,
        ),
    ),
    kinds.CONTROLLER_REVISION: Checks(small_kinds.revision, small_kinds.revision_change),
    kinds.JOB: Checks(jobs.job, _job_change, job_status.job_status_change),
    kinds.CRON_JOB: Checks(cron_jobs.new_cron_job, _cron_job_change),
    kinds.SERVICE: Checks(services.service, _service_change, lambda old, new: services.balancer_status(new, old)),
    kinds.ENDPOINTS: Checks(traffic.endpoints, _endpoints_change),
    kinds.INGRESS: Checks(
        traffic.new_ingress,
        _of_spec(traffic.ingress).change,
        lambda old, new: services.ingress_status(new, old),
    ),
    kinds.DISRUPTION_BUDGET: Checks(
        small_kinds.budget, lambda old, new: small_kinds.budget(new), small_kinds.budget_status
    ),
    kinds.MUTATING_HOOKS: Checks(hooks.configuration, lambda old, new: hooks.configuration(new)),
    kinds.VALIDATING_HOOKS: Checks(hooks.configuration, lambda old, new: hooks.configuration(new)),
    kinds.MUTATING_POLICY: Checks(mutating_policies.policy, mutating_policies.policy_change),
    kinds.MUTATING_POLICY_BINDING: Checks(mutating_policies.binding, lambda old, new: mutating_policies.binding(new)),
    kinds.VALIDATING_POLICY: Checks(policies.policy, policies.policy_change),
    kinds.VALIDATING_POLICY_BINDING: Checks(policies.binding, lambda old, new: policies.binding(new)),
    kinds.CONFIG_MAP: Checks(data.config_map, data.config_map_change),
    kinds.SECRET: Checks(data.secret, data.secret_change),
    kinds.CLAIM: Checks(
        lambda obj: claim_spec.claim_spec(part(obj, "spec"), "spec"), claims.claim_change, claims.claim_status
    ),
    kinds.VOLUME: Checks(_volume, _volume_change),
    kinds.LIMIT_RANGE: Checks(limits.limit_range, lambda old, new: limits.limit_range(new)),
    kinds.QUOTA: _of_spec(limits.quota, limits.quota_change, status=_quota_status),
    kinds.NODE: Checks(small_kinds.node, small_kinds.node_change, small_kinds.node_change),
    kinds.NAMESPACE: Checks(
        small_kinds.namespace,
        nothing,
        small_kinds.namespace_status,
        small_kinds.namespace_finalizers,
    ),
}
# The groups whose checks are loaded when the first of their objects is written.
_BESIDE = (
    *("apiregistration.k8s.io", "autoscaling", "certificates.k8s.io", "discovery.k8s.io", "networking.k8s.io"),
    *("flowcontrol.apiserver.k8s.io", "node.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io"),
)


def checks_of(kind: Kind) -> Checks | None:
    """Return the checks of a kind; None if its `Rules` have them, as for custom kinds."""
    found = _CHECKS.get(kind)
    if found is None and kind.stored.group in _BESIDE:
        from embedded_apiserver.rules.checks_infrastructure import CHECKS

        return CHECKS.get(kind.stored)
    return found
