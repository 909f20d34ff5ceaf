# SPDX-License-Identifier: Apache-2.0
"""Discovery, compared with the recorded documents of a real server: fewer kinds, but each with the same entry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kit.recorded import RECORDINGS, exchanges

from controller_runtime.apiserver.discovery.discovery import aggregated_document, discovery_document
from controller_runtime.apiserver.kinds.registry import KINDS

RECORDED = json.loads((RECORDINGS[0].parent / "discovery-1.36.2.json").read_text(encoding="utf-8"))
PARTS_NOT_SERVED = ("attach", "ephemeralcontainers", "exec", "log", "portforward", "proxy", "resize")


def by_name(entries: list[dict[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    return {entry[name]: entry for entry in entries}


def aggregated(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return each resource of an aggregated document, by group version and name."""
    for group in document["items"]:
        for version in group["versions"]:
            for resource in version["resources"]:
                name = f"{group['metadata'].get('name', '')}/{version['version']}/{resource['resource']}"
                yield name, {**resource, "freshness": version["freshness"]}


def without_parts_not_served(resource: dict[str, Any]) -> dict[str, Any]:
    parts = [part for part in resource.get("subresources", ()) if part["subresource"] not in PARTS_NOT_SERVED]
    rest = {key: value for key, value in resource.items() if key != "subresources"}
    return {**rest, "subresources": parts} if parts else rest


@pytest.mark.scenario("H-65")
@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_aggregated_discovery_tells_of_each_kind_what_a_real_server_tells(path: str) -> None:
    """The aggregated documents are of version 2 and equal the recorded ones for all kinds that are served."""
    ours = aggregated_document(KINDS, path)
    theirs = RECORDED[path[1:]]

    assert ours is not None
    assert {**ours, "items": []} == {**theirs, "items": []}
    recorded = dict(aggregated(theirs))
    for name, resource in aggregated(ours):
        assert resource == without_parts_not_served(recorded[name])


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_groups_and_versions_come_in_the_order_of_a_real_server(path: str) -> None:
    ours = aggregated_document(KINDS, path)

    assert ours is not None
    recorded = [name for name, _ in aggregated(RECORDED[path[1:]])]
    told = [name for name, _ in aggregated(ours)]
    assert told == [name for name in recorded if name in told]


CLASSIC = [one for one in exchanges() if one.id.startswith("discovery") and "APIResourceList" in str(one.answer.body)]


@pytest.mark.parametrize("exchange", CLASSIC)
def test_a_classic_list_tells_of_each_kind_what_a_real_server_tells(exchange: Any) -> None:
    ours = discovery_document(KINDS, exchange.path)

    assert ours is not None
    assert {**ours, "resources": []} == {**exchange.answer.body, "resources": []}
    recorded = by_name(exchange.answer.body["resources"], "name")
    for name, resource in by_name(ours["resources"], "name").items():
        assert resource == recorded[name]
