# SPDX-License-Identifier: Apache-2.0
"""The alerts of a program, each with the reason that an operator has to know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import attrs

from controller_runtime.manifests.monitoring.expressions import maximum, minimum, per_second, quantile, total


@attrs.frozen
class Alert:
    """One alert of Prometheus.

    Attributes:
        name: The name of the alert.
        expression: The PromQL expression; the alert fires for each series that it returns.
        lasts: How long the expression must hold before the alert fires, such as `5m`.
        severity: `critical` if work has stopped, `warning` if it will stop, `info` if single objects need attention.
        summary: The problem.
        remedy: The action that an operator should take.
    """

    name: str
    expression: str
    lasts: str
    severity: Literal["critical", "warning", "info"]
    summary: str
    remedy: str


def alerts(namespace: str) -> Sequence[Alert]:
    """Return the alerts for the programs in a namespace."""
    on = f'namespace="{namespace}"'
    return (*_of_reconciles(on), *_of_work(on), *_of_caches(on), *_of_replicas(on), *_of_rings(on))


def _of_reconciles(on: str) -> Sequence[Alert]:
    errors = per_second("controller_runtime_reconcile_errors_total", on, "10m", ("controller",))
    everything = per_second("controller_runtime_reconcile_total", on, "10m", ("controller",))
    panics = per_second("controller_runtime_reconcile_panics_total", on, "10m", ("controller",))
    self_wakes = per_second("controller_runtime_reconcile_self_wakes_total", on, "10m", ("controller",))
    return (
        Alert(
            "ReconcilerRaises", f"{panics} > 0", "0m", "warning",
            "A reconciler of {{ $labels.controller }} raised an unexpected error.",
            "It is most likely a bug: the log has its traceback, and /debug lists the requests.",
        ),
        Alert(
            "ReconcilesFail", f"{errors} / {everything} > 0.5", "15m", "warning",
            "More than half of the reconciles of {{ $labels.controller }} fail.",
            "Look at the table Failing of /debug: it has the last error of each request.",
        ),
        Alert(
            "ControllerWakesItself", f"{self_wakes} > 0", "1m", "warning",
            "Nothing but its own writes causes the reconciles of {{ $labels.controller }}.",
            "The log and the table Wake themselves of /debug name the fields; write only what has to differ.",
        ),
        Alert(
            "ReconcileHangs",
            f"{maximum('workqueue_longest_running_processor_seconds', on, ('name', 'pod'))} > 600", "0m", "critical",
            "A reconcile of {{ $labels.name }} has been running for more than ten minutes.",
            "SIGUSR1 shows what it waits for; give the controller a reconcile_timeout.",
        ),
    )  # fmt: skip


def _of_work(on: str) -> Sequence[Alert]:
    unreadable = per_second("controller_runtime_unreadable_objects_total", on, "1h", ("controller", "kind"))
    refused = per_second("controller_runtime_deletions_refused_total", on, "10m", ("resource",))
    lost = per_second(
        "controller_runtime_events_total", f'{on},fate=~"spam|dropped|failed"', "30m", ("component", "fate")
    )
    return (
        Alert(
            "QueueIsLate",
            f"{quantile(0.99, 'workqueue_queue_duration_seconds', on, '10m', ('name',))} > 300", "15m", "warning",
            "Requests of {{ $labels.name }} wait for more than five minutes.",
            "Give the controller more workers, or make its reconciles shorter; /debug has the slowest.",
        ),
        Alert(
            "ChangesCannotBeMapped",
            f"{total('controller_runtime_mapper_failing_objects', on, ('controller', 'kind'))} > 0", "1h", "info",
            "A mapper or predicate of {{ $labels.controller }} fails for some {{ $labels.kind }}.",
            "The table Failing of /debug names the objects and the errors.",
        ),
        Alert(
            "ObjectsCannotBeRead", f"{unreadable} > 0", "0m", "info",
            "{{ $labels.controller }} waits for a change of a {{ $labels.kind }} that it cannot read.",
            "The table Failing of /debug names the object and the field.",
        ),
        Alert(
            "DeletionsAreRefused", f"{refused} > 0", "0m", "critical",
            "The program would delete more {{ $labels.resource }} than its budget allows.",
            "Find out why before anything else; the table Deletion budgets of /debug has the command that opens it.",
        ),
        Alert(
            "EventsAreLost", f"{lost} > 0", "30m", "info",
            "Events of {{ $labels.component }} are not written: {{ $labels.fate }}.",
            "Spam is one object's; failed is a right that is missing, or a server that does not answer.",
        ),
    )  # fmt: skip


def _of_caches(on: str) -> Sequence[Alert]:
    lost = per_second("controller_runtime_informer_lost_changes_total", on, "1h", ("name",))
    return (
        Alert(
            "CacheIsSilent",
            f"{maximum('controller_runtime_informer_silence_seconds', on, ('name', 'pod'))} > 200", "5m", "critical",
            "The cache of {{ $labels.name }} hears nothing of the API server.",
            "The table Caches of /debug has its last error.",
        ),
        Alert(
            "CacheIsNotFilled",
            f"{total('controller_runtime_informer_synced', on, ('name', 'pod'))} == 0", "10m", "critical",
            "The cache of {{ $labels.name }} has no initial list.",
            "Most often the right to list is missing: the table Caches of /debug has the error.",
        ),
        Alert(
            "CacheLostAChange", f"{lost} > 0", "0m", "warning",
            "The cache of {{ $labels.name }} did not hold what the server had.",
            "It has been mended; look for a proxy that cuts watches.",
        ),
        Alert(
            "SubscriberIsSlow",
            f"{maximum('controller_runtime_informer_backlog', on, ('name', 'subscriber'))} > 10000", "10m", "warning",
            "Changes of {{ $labels.name }} wait for {{ $labels.subscriber }}.",
            "Its callback takes too long: the backlog is memory.",
        ),
    )  # fmt: skip


def _of_replicas(on: str) -> Sequence[Alert]:
    leaders = total("leader_election_master_status", on, ("name",))
    failed = f'{on},code=~"5..|<error>"'
    refused = per_second("rest_client_requests_total", failed, "10m", ("host",))
    asked = per_second("rest_client_requests_total", on, "10m", ("host",))
    return (
        Alert(
            "NoReplicaLeads", f"{leaders} == 0", "5m", "critical",
            "No replica leads {{ $labels.name }}.", "The table Election of /debug has the last error of each replica.",
        ),
        Alert(
            "SeveralReplicasLead", f"{leaders} > 1", "2m", "critical",
            "Several replicas say that they lead {{ $labels.name }}.",
            "Scrapes are not simultaneous, so a change of the leader may look so for a minute, but not for two.",
        ),
        Alert(
            "RequestsFail", f"{refused} / {asked} > 0.2", "10m", "warning",
            "A fifth of the requests to the API server fail.", "Look at the API server first.",
        ),
        Alert(
            "ProgramIsAway", f"absent(up{{{on}}} == 1)", "5m", "critical",
            "No replica is scraped.", "Look at the pods, then at the network policy.",
        ),
    )  # fmt: skip


def _of_rings(on: str) -> Sequence[Alert]:
    # A replica that is cut off knows of no living member, so the replica that knows of the most decides.
    unclaimed = minimum("controller_runtime_ring_unclaimed_slots", on, ("ring",))
    return (
        Alert(
            "SlotsHaveNoOwner", f"{unclaimed} > 0", "2m", "critical",
            "{{ $value }} of 256 slots of the ring {{ $labels.ring }} have no owner: nothing reconciles their objects.",
            "The table Rings of /debug has the last error of each replica.",
        ),
        Alert(
            "RingTurnsFail",
            f"{maximum('controller_runtime_ring_turn_age_seconds', on, ('ring', 'pod'))} > 60", "2m", "warning",
            "{{ $labels.pod }} does not take part in the ring {{ $labels.ring }}: its turns fail.",
            "Its last_error in /debug names the right, the object or the server that stands in the way.",
        ),
        Alert(
            "RingMemberWaits",
            f"{minimum('controller_runtime_ring_waiting', on, ('ring', 'pod'))} > 0", "30m", "warning",
            "{{ $labels.pod }} waits for members of the ring {{ $labels.ring }} that divide otherwise.",
            "A rollout has stopped half-way, or two programs have rings of one name: give one of them another.",
        ),
    )  # fmt: skip


def rule_groups(name: str, namespace: str) -> list[dict[str, Any]]:
    """Return the rule groups for a Prometheus rule file or a `PrometheusRule`."""
    rules = [
        {
            "alert": each.name,
            "expr": each.expression,
            "for": each.lasts,
            "labels": {"severity": each.severity, "program": name},
            "annotations": {"summary": each.summary, "description": each.remedy},
        }
        for each in alerts(namespace)
    ]
    return [{"name": name, "rules": rules}]
