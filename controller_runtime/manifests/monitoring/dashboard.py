# SPDX-License-Identifier: Apache-2.0
"""The Grafana dashboard of a program, from one list of panels; a test compares it with a real scrape, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from controller_runtime.manifests.monitoring.expressions import maximum, per_second, quantile, total

_SELECTOR = 'namespace=~"$namespace",job=~"$job"'
_WINDOW = "$__rate_interval"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 3
_NAMED, _ONE, _KIND = ("name",), ("controller",), ("controller", "kind")

How = Literal["rate", "sum", "max", "p50", "p99"]


@attrs.frozen
class Panel:
    """One graph of a Grafana dashboard.

    Attributes:
        title: The heading.
        how: The value that is shown: the metric's increase per second, its sum, its largest value, or a quantile.
        metric: The name of the metric; for a histogram without its suffix.
        by: The labels; there is one line for each combination of their values.
        unit: The unit, by its name in Grafana.
    """

    title: str
    how: How
    metric: str
    by: Sequence[str]
    unit: str = "short"


# fmt: off
ROWS: Mapping[str, Sequence[Panel]] = {
    "Reconciles": (
        Panel("Reconciles per second", "rate", "controller_runtime_reconcile_total", ("controller", "result"), "ops"),
        Panel("Errors per second", "rate", "controller_runtime_reconcile_errors_total", _ONE, "ops"),
        Panel("Time, median", "p50", "controller_runtime_reconcile_time_seconds", _ONE, "s"),
        Panel("Time, 99 %", "p99", "controller_runtime_reconcile_time_seconds", _ONE, "s"),
        Panel("Busy workers", "sum", "controller_runtime_active_workers", _ONE),
        Panel("Workers", "sum", "controller_runtime_max_concurrent_reconciles", _ONE),
        Panel("Unexpected errors per second", "rate", "controller_runtime_reconcile_panics_total", _ONE, "ops"),
        Panel("Writes that wake themselves", "rate", "controller_runtime_reconcile_self_wakes_total", _ONE, "ops"),
        Panel("Writes of nothing but times", "rate", "controller_runtime_reconcile_time_only_writes_total", _ONE,
              "ops"),
        Panel("Final errors per second", "rate", "controller_runtime_terminal_reconcile_errors_total", _ONE, "ops"),
        Panel("Timeouts per second", "rate", "controller_runtime_reconcile_timeouts_total", _ONE, "ops"),
        Panel("Ignored cancellations per second", "rate", "controller_runtime_reconcile_cancellations_ignored_total",
              _ONE, "ops"),
        Panel("Objects whose change cannot be mapped", "sum", "controller_runtime_mapper_failing_objects", _KIND),
        Panel("Errors of mappers per second", "rate", "controller_runtime_mapper_errors_total", _KIND, "ops"),
        Panel("Unreadable objects per second", "rate", "controller_runtime_unreadable_objects_total", _KIND, "ops"),
    ),
    "Queues": (
        Panel("Due requests", "sum", "workqueue_depth", ("name", "priority")),
        Panel("Wait, 99 %", "p99", "workqueue_queue_duration_seconds", _NAMED, "s"),
        Panel("Work, 99 %", "p99", "workqueue_work_duration_seconds", _NAMED, "s"),
        Panel("Longest running", "max", "workqueue_longest_running_processor_seconds", _NAMED, "s"),
        Panel("Unfinished work", "max", "workqueue_unfinished_work_seconds", _NAMED, "s"),
        Panel("Additions per second", "rate", "workqueue_adds_total", _NAMED, "ops"),
        Panel("Delayed additions per second", "rate", "workqueue_retries_total", _NAMED, "ops"),
        Panel("Pushed into channels per second", "rate", "controller_runtime_channel_pushed_total", _ONE, "ops"),
        Panel("Refused by channels per second", "rate", "controller_runtime_channel_refused_total", _ONE, "ops"),
    ),
    "Caches": (
        Panel("Objects", "max", "controller_runtime_informer_objects", _NAMED),
        Panel("Memory", "max", "controller_runtime_informer_held_bytes", _NAMED, "bytes"),
        Panel("JSON", "max", "controller_runtime_informer_json_bytes", _NAMED, "bytes"),
        Panel("Bodies", "max", "controller_runtime_informer_body_bytes", _NAMED, "bytes"),
        Panel("Bodies at hand per second", "rate", "controller_runtime_informer_body_hits_total", _NAMED, "ops"),
        Panel("Bodies fetched per second", "rate", "controller_runtime_informer_body_misses_total", _NAMED, "ops"),
        Panel("Lag", "max", "controller_runtime_informer_lag_seconds", _NAMED, "s"),
        Panel("Silence", "max", "controller_runtime_informer_silence_seconds", _NAMED, "s"),
        Panel("Synced replicas", "sum", "controller_runtime_informer_synced", _NAMED),
        Panel("Age of the last error", "max", "controller_runtime_informer_last_error_age_seconds", _NAMED, "s"),
        Panel("Lists per second", "rate", "controller_runtime_informer_lists_total", _NAMED, "ops"),
        Panel("Watches per second", "rate", "controller_runtime_informer_watches_total", _NAMED, "ops"),
        Panel("Silent watches per second", "rate", "controller_runtime_informer_idle_streams_total", _NAMED, "ops"),
        Panel("Left out per second", "rate", "controller_runtime_informer_unreadable_total", _NAMED, "ops"),
        Panel("Waiting for subscribers", "max", "controller_runtime_informer_backlog", ("name", "subscriber")),
        Panel("Audited objects per second", "rate", "controller_runtime_informer_audited_objects_total", _NAMED, "ops"),
        Panel("Lost changes per second", "rate", "controller_runtime_informer_lost_changes_total", _NAMED, "ops"),
        Panel("Version", "max", "informer_store_resource_version", _NAMED, "none"),
    ),
    "API server and leader": (
        Panel("Requests per second", "rate", "rest_client_requests_total", ("method", "code"), "reqps"),
        Panel("Answers, 99 %", "p99", "rest_client_request_duration_seconds", ("verb",), "s"),
        Panel("Leader", "max", "leader_election_master_status", ("name", "pod")),
        Panel("Renewals that read the lease", "rate", "leader_election_slowpath_total", _NAMED, "ops"),
        Panel("Events per second", "rate", "controller_runtime_events_total", ("component", "fate"), "ops"),
    ),
    "Deletion budgets": (
        Panel("Deletions in their budget", "max", "controller_runtime_deletions_used", ("resource",)),
        Panel("Allowed per second", "rate", "controller_runtime_deletions_allowed_total", ("resource",), "ops"),
        Panel("Refused per second", "rate", "controller_runtime_deletions_refused_total", ("resource",), "ops"),
    ),
    "Ring": (
        Panel("Slots", "max", "controller_runtime_ring_slots", ("ring", "pod")),
        Panel("Slots without an owner, as a replica knows", "max", "controller_runtime_ring_unclaimed_slots",
              ("ring", "pod")),
        Panel("Members", "max", "controller_runtime_ring_members", ("ring", "pod")),
        Panel("Age of the last good turn", "max", "controller_runtime_ring_turn_age_seconds", ("ring", "pod"), "s"),
        Panel("Waits for another division", "max", "controller_runtime_ring_waiting", ("ring", "pod")),
        Panel("Epoch", "max", "controller_runtime_ring_epoch", ("ring", "pod"), "none"),
        Panel("Slots that change per second", "rate", "controller_runtime_ring_slot_changes_total",
              ("ring", "change"), "ops"),
        Panel("Time without an owner, 99 %", "p99", "controller_runtime_ring_gap_seconds", ("ring",), "s"),
    ),
    "Process": (
        Panel("Memory", "max", "process_resident_memory_bytes", ("pod",), "bytes"),
        Panel("CPU", "rate", "process_cpu_seconds_total", ("pod",), "percentunit"),
        Panel("Open files", "max", "process_open_fds", ("pod",)),
    ),
}
# fmt: on


def expression(panel: Panel) -> str:
    """Return the PromQL expression of a panel."""
    match panel.how:
        case "rate":
            return per_second(panel.metric, _SELECTOR, _WINDOW, panel.by)
        case "sum":
            return total(panel.metric, _SELECTOR, panel.by)
        case "max":
            return maximum(panel.metric, _SELECTOR, panel.by)
        case "p50" | "p99":
            return quantile(0.5 if panel.how == "p50" else 0.99, panel.metric, _SELECTOR, _WINDOW, panel.by)


def dashboard(name: str) -> dict[str, Any]:
    """Return the dashboard of a program, as a JSON document for Grafana.

    Args:
        name: The program's name. The title begins with it, and with a prefix it is the uid (of at most 40 characters),
            so that an import replaces an older one.
    """
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in ROWS.items():
        panels.append(
            {"type": "row", "title": title, "id": len(panels) + 1, "gridPos": {"h": 1, "w": 24, "x": 0, "y": y}}
        )
        y += 1
        for place, panel in enumerate(row):
            at = {
                "h": _HEIGHT,
                "w": _WIDTH,
                "x": place % _COLUMNS * _WIDTH,
                "y": y + place // _COLUMNS * _HEIGHT,
            }
            panels.append(_graph(panel, len(panels) + 1, at))
        y += -(-len(row) // _COLUMNS) * _HEIGHT
    return {
        "uid": f"controller-runtime-{name}"[:40],
        "title": f"{name}: controllers",
        "tags": ["controller-runtime"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": panels,
    }


def _graph(panel: Panel, number: int, at: Mapping[str, int]) -> dict[str, Any]:
    legend = " ".join(f"{{{{{label}}}}}" for label in panel.by)
    target = {"refId": "A", "datasource": _SOURCE, "expr": expression(panel), "legendFormat": legend}
    return {
        "type": "timeseries",
        "id": number,
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": dict(at),
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [target],
    }


def _variables() -> list[dict[str, Any]]:
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
    metric = "controller_runtime_informer_synced"  # each replica has it, whether it leads or not
    queries = {
        "namespace": f"label_values({metric}, namespace)",
        "job": f'label_values({metric}{{namespace=~"$namespace"}}, job)',
    }
    shared = {"type": "query", "datasource": _SOURCE, "refresh": 2, "includeAll": True, "multi": True, "allValue": ".*"}
    chosen = {"current": {"selected": True, "text": ["All"], "value": ["$__all"]}}
    return [source, *({"name": name, "query": query, **shared, **chosen} for name, query in queries.items())]
