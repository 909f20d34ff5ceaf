# SPDX-License-Identifier: Apache-2.0
"""Properties of a story are checked after each change, or at the end, over objects and their history."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery.objects import ObjectKey
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.resources import CONFIG_MAPS
from controller_runtime.testing.perturbation.others.properties import Properties, read
from controller_runtime.testing.perturbation.record import MANAGER
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.perturbation import Property
from embedded_apiserver.server import APIServer


def a_map(name: str, value: str = "1") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "data": {"v": value}}


def play(sim: Simulation, **claims: str) -> list[str]:
    """Return what did not hold while two maps were made, one of them was changed, and one deleted."""
    host = sim.host("here")
    server = APIServer(host)
    kinds = {each.resource: each.kind for each in server.kinds}
    properties = Properties(read("here", {word: [text] for word, text in claims.items()}), lambda: kinds)
    server.storage.on_commit = lambda resource, change: properties.note(resource, change, MANAGER, 1)
    client = Client(host, InProcessTransport(host, server))
    client.create(CONFIG_MAPS, a_map("a"))
    client.create(CONFIG_MAPS, a_map("b"))
    client.patch(CONFIG_MAPS, ObjectKey("b", "default"), {"data": {"v": "2"}})
    client.delete(CONFIG_MAPS, ObjectKey("a", "default"))
    properties.end()
    server.close()
    return properties.broken


@pytest.mark.parametrize(
    ("word", "text", "broken"),
    [
        ("always", "size(ConfigMap) <= 2", ""),
        ("always", "size(ConfigMap) <= 1", "step 1, after ConfigMap default/b was created by the operator"),
        ("always", "size(Pod) == 0", ""),
        ("never", "ConfigMap.exists(each, each.data.v == '3')", ""),
        (
            "never",
            "ConfigMap.exists(each, each.data.v == '2')",
            "step 1, after ConfigMap default/b was updated by the operator",
        ),
        ("eventually", "ConfigMap.all(each, each.data.v == '2')", ""),
        ("eventually", "size(ConfigMap) == 2", "at the end"),
        (
            "never",
            "object == null && oldObject.metadata.name == 'a'",
            "step 1, after ConfigMap default/a was deleted by the operator",
        ),
        ("never", "history.filter(each, each.verb == 'created' && each.name == 'a').size() > 1", ""),
        (
            "never",
            "history.filter(each, each.verb == 'created').size() > 1",
            "step 1, after ConfigMap default/b was created by the operator",
        ),
    ],
)
def test_a_property_is_broken_at_the_change_that_breaks_it(sim: Simulation, word: str, text: str, broken: str) -> None:
    found = play(sim, **{word: text})

    assert found == ([f"{word} `{text}` does not hold {broken}"] if broken else [])


def test_a_property_that_cannot_be_evaluated_is_told_once(sim: Simulation) -> None:
    (found,) = play(sim, always="ConfigMap.all(each, each.spec.size > 0)")

    assert found.startswith("always `ConfigMap.all(each, each.spec.size > 0)` cannot be evaluated step 1, after")
    assert "no such key: spec" in found


@pytest.mark.parametrize("text", ["size(Pod)", "Pod +", "unknown == 1", "'Running'"])
def test_what_is_neither_true_nor_false_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"compilation failed|must evaluate to bool"):
        Property(text)


def test_a_property_reads_the_kinds_that_it_names() -> None:
    assert Property("Pod.all(each, each.status.phase == 'Running' || each.Kind == 1)").kinds == {"Pod"}
