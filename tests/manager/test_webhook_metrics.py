# SPDX-License-Identifier: Apache-2.0
"""The metrics of a manager's webhooks, tested against the text that Prometheus reads."""

from __future__ import annotations

import pytest
from kit.crd.cabins import Cabin, CabinV1Alpha1
from kit.crd.conversions import cabins
from kit.manager.scraping import lines_of, series_of
from kit.webhooks.reviewing import admission_review, conversion_review, post

from controller_runtime import Manager, SystemHost
from controller_runtime.crd import converts
from controller_runtime.errors import ControllerRuntimeError
from controller_runtime.manifests.facts import unconnected_manager
from controller_runtime.webhooks import Admission, Checks, Converts, FieldError

CHECKS = "/checks.cabins.v1.example.com"


def by_beds(cabin: Cabin, request: Admission[Cabin]) -> FieldError | None:
    """End the review in the way that the number of beds says."""
    match cabin.spec.beds:
        case 2:
            return FieldError("spec.beds", "two are too many")
        case 3:
            raise ControllerRuntimeError("the world is not ready")
        case 4:
            raise ZeroDivisionError
        case 5:
            assert in_flight(cabin.metadata.annotations["manager"]) == 1.0
    return None


MANAGERS: dict[str, Manager] = {}


def in_flight(name: str) -> float:
    found = series_of(MANAGERS[name])
    return found["controller_runtime_webhook_requests_in_flight", frozenset({("webhook", CHECKS)})]


def a_cabin(beds: int) -> dict[str, object]:
    metadata = {"name": "hut", "annotations": {"manager": "present"}}
    return {"apiVersion": "example.com/v1", "kind": "Cabin", "metadata": metadata, "spec": {"beds": beds}}


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Return the metrics after one review of each end, and a conversion that a bug ends."""
    manager = MANAGERS["present"] = unconnected_manager(SystemHost())
    manager.webhooks.add(Checks(Cabin, by_beds), Converts(cabins))
    for beds in range(1, 6):
        manager.webhooks.handle(post(CHECKS, admission_review(a_cabin(beds))))
    manager.webhooks.handle(post(CHECKS, {"no": "review"}))
    manager.webhooks.handle(post("/convert", conversion_review("example.com/v1alpha1", a_cabin(1))))
    manager.webhooks.handle(post("/nowhere", {}))
    return lines_of(manager)


@pytest.mark.parametrize(
    "line",
    [
        "# TYPE controller_runtime_webhook_requests_total counter",
        f'controller_runtime_webhook_requests_total{{code="200",webhook="{CHECKS}"}} 3.0',
        f'controller_runtime_webhook_requests_total{{code="400",webhook="{CHECKS}"}} 1.0',
        f'controller_runtime_webhook_requests_total{{code="500",webhook="{CHECKS}"}} 2.0',
        'controller_runtime_webhook_requests_total{code="200",webhook="/convert"} 1.0',
        'controller_runtime_webhook_requests_total{code="500",webhook="/convert"} 0.0',
        "# TYPE controller_runtime_webhook_latency_seconds histogram",
        f'controller_runtime_webhook_latency_seconds_count{{webhook="{CHECKS}"}} 6.0',
        f'controller_runtime_webhook_latency_seconds_bucket{{le="+Inf",webhook="{CHECKS}"}} 6.0',
        f'controller_runtime_webhook_requests_in_flight{{webhook="{CHECKS}"}} 0.0',
        "controller_runtime_webhook_panics_total 1.0",
        "controller_runtime_conversion_webhook_panics_total 0.0",
    ],
)
def test_reviews_are_counted_under_upstreams_names(lines: list[str], line: str) -> None:
    assert line in lines


def test_paths_that_are_not_served_are_no_series(lines: list[str]) -> None:
    assert "nowhere" not in "\n".join(lines)


def test_a_conversion_that_raises_something_unexpected_is_counted_by_itself() -> None:
    @converts(CabinV1Alpha1, Cabin)
    def broken(old: CabinV1Alpha1) -> Cabin:
        raise ZeroDivisionError

    @broken.back
    def back(new: Cabin) -> CabinV1Alpha1:
        raise ZeroDivisionError

    manager = unconnected_manager(SystemHost())
    manager.webhooks.add(Converts(broken))
    manager.webhooks.handle(post("/convert", conversion_review("example.com/v1alpha1", a_cabin(1))))

    found = lines_of(manager)
    assert "controller_runtime_conversion_webhook_panics_total 1.0" in found
    assert "controller_runtime_webhook_panics_total 0.0" in found


def test_a_manager_without_webhooks_has_no_such_series() -> None:
    assert "webhook" not in "\n".join(lines_of(unconnected_manager(SystemHost())))
