# SPDX-License-Identifier: Apache-2.0
"""Discovery, compared with the recorded documents of a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kit.contract.recorded import RECORDINGS

from embedded_apiserver.discovery.discovery import aggregated_document, discovery_document
from embedded_apiserver.groups.all import KINDS

RECORDED = json.loads((RECORDINGS[0].parent / "discovery-1.36.2.json").read_text(encoding="utf-8"))


def aggregated(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return each resource of an aggregated document, by group version and name."""
    for group in document["items"]:
        for version in group["versions"]:
            for resource in version["resources"]:
                name = f"{group['metadata'].get('name', '')}/{version['version']}/{resource['resource']}"
                yield name, {**resource, "freshness": version["freshness"]}


@pytest.mark.scenario("H-65")
@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_aggregated_discovery_tells_what_a_real_server_tells(path: str) -> None:
    """The aggregated documents are of version 2 and equal the recorded ones."""
    ours = aggregated_document(KINDS, path)
    theirs = RECORDED[path[1:]]

    assert ours is not None
    assert dict(aggregated(ours)) == dict(aggregated(theirs))
    assert ours == theirs


@pytest.mark.parametrize("path", RECORDED["classic"])
def test_a_classic_document_tells_what_a_real_server_tells(path: str) -> None:
    assert discovery_document(KINDS, path) == RECORDED["classic"][path]


def test_all_entries_of_a_real_server_are_there() -> None:
    entries = [entry for document in RECORDED["classic"].values() for entry in document.get("resources", ())]

    assert len(entries) == 115
