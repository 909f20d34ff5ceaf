# SPDX-License-Identifier: Apache-2.0
"""The table from each kind to its rules."""

from __future__ import annotations

from collections.abc import Mapping

from embedded_apiserver.kinds import registry as kinds
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.rules import rbac, small_kinds
from embedded_apiserver.rules import workload as workload_rules
from embedded_apiserver.rules.definitions.custom_objects import CustomRules
from embedded_apiserver.rules.definitions.definition import DefinitionRules
from embedded_apiserver.rules.event import EventRules, NewEventRules
from embedded_apiserver.rules.hooks import HookRules, PolicyBindingRules
from embedded_apiserver.rules.lease import LeaseRules
from embedded_apiserver.rules.lease_candidate import LeaseCandidateRules
from embedded_apiserver.rules.namespace import NamespaceRules
from embedded_apiserver.rules.node import NodeRules
from embedded_apiserver.rules.pod import PodRules
from embedded_apiserver.rules.rules import Rules
from embedded_apiserver.rules.volume_claim import ClaimRules, VolumeRules

_NO_RULES = Rules()
_RULES: Mapping[Kind, Rules] = {
    kinds.EVENT: EventRules(),
    kinds.NAMESPACE: NamespaceRules(),
    kinds.NODE: NodeRules(),
    kinds.CLAIM: ClaimRules(),
    kinds.VOLUME: VolumeRules(),
    kinds.POD: PodRules(),
    kinds.POD_TEMPLATE: workload_rules.TemplateRules(),
    kinds.REPLICATION_CONTROLLER: workload_rules.CONTROLLER_RULES,
    kinds.QUOTA: small_kinds.StatusRules({}),
    kinds.SERVICE_ACCOUNT: small_kinds.ServiceAccountRules(),
    kinds.SERVICE: small_kinds.ServiceRules(),
    kinds.DAEMON_SET: workload_rules.DAEMON_SET_RULES,
    kinds.DEPLOYMENT: workload_rules.DEPLOYMENT_RULES,
    kinds.REPLICA_SET: workload_rules.REPLICA_SET_RULES,
    kinds.STATEFUL_SET: workload_rules.STATEFUL_SET_RULES,
    kinds.NEW_EVENT: NewEventRules(),
    kinds.CRON_JOB: workload_rules.CRON_JOB_RULES,
    kinds.JOB: workload_rules.JOB_RULES,
    kinds.INGRESS: small_kinds.IngressRules(),
    kinds.DISRUPTION_BUDGET: small_kinds.BudgetRules(),
    kinds.CLUSTER_ROLE_BINDING: rbac.BindingRules(namespaced=False),
    kinds.CLUSTER_ROLE: rbac.RoleRules(namespaced=False),
    kinds.ROLE_BINDING: rbac.BindingRules(namespaced=True),
    kinds.ROLE: rbac.RoleRules(namespaced=True),
    kinds.MUTATING_HOOKS: HookRules(),
    kinds.VALIDATING_HOOKS: HookRules(),
    kinds.MUTATING_POLICY: PolicyBindingRules(),
    kinds.MUTATING_POLICY_BINDING: PolicyBindingRules(),
    kinds.VALIDATING_POLICY: workload_rules.SpecRules(),
    kinds.VALIDATING_POLICY_BINDING: PolicyBindingRules(),
    kinds.DEFINITION: DefinitionRules(),
    kinds.LEASE: LeaseRules(),
    kinds.LEASE_CANDIDATE: LeaseCandidateRules(),
    kinds.OLD_LEASE_CANDIDATE: LeaseCandidateRules(),
}
# The groups whose rules are loaded when the first of their objects is read or written.
_BESIDE = (
    *("apiregistration.k8s.io", "autoscaling", "certificates.k8s.io", "discovery.k8s.io", "networking.k8s.io"),
    *("node.k8s.io", "flowcontrol.apiserver.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io"),
)


def rules_of(kind: Kind) -> Rules:
    """Return the rules of a kind: of a built-in kind from the table, of a custom kind by its definition."""
    rules = _RULES.get(kind)
    if rules is not None:
        return rules
    if kind.definition is None and kind.group in _BESIDE:
        from embedded_apiserver.rules.infrastructure import RULES

        return RULES.get(kind, _NO_RULES)
    return _NO_RULES if kind.definition is None else CustomRules(kind, kind.definition)
