# SPDX-License-Identifier: Apache-2.0
"""The deletion of definitions, and of the custom objects with them."""

from __future__ import annotations

import pytest
from kit.apiserver.asking import Asking, Object, brief, events
from kit.apiserver.defining import (
    DEFINITIONS,
    GROUP,
    WIDGETS,
    conditions,
    define,
    definition,
    version,
    widget,
)

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.upkeep.upkeep import Upkeep

NAME = f"widgets.{GROUP}"
ONE = f"{DEFINITIONS}/{NAME}"


def test_deleting_a_definition_deletes_its_objects_and_ends_their_watches(ask: Asking) -> None:
    define(ask)
    ask.ok("POST", WIDGETS, widget("a"))
    watch = ask.watch(WIDGETS)

    told = ask.ok("DELETE", ONE)

    assert conditions(told)["Terminating"] == ("True", "InstanceDeletionPending")
    assert told["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert brief(events(watch)) == [("ADDED", "a"), ("DELETED", "a")]
    assert watch.take() == ([], True)
    assert ask("GET", ONE)[0] == 404
    assert ask.response("GET", WIDGETS).status == 404
    assert GROUP not in [group["name"] for group in ask.ok("GET", "/apis")["groups"]]


def test_a_definition_waits_for_objects_that_wait(ask: Asking) -> None:
    define(ask)
    ask.ok("POST", WIDGETS, {**widget("a"), "metadata": {"name": "a", "finalizers": ["demo.example.com/x"]}})
    ask.ok("DELETE", ONE)

    waiting = conditions(ask.ok("GET", ONE))
    refused = ask("POST", WIDGETS, widget("b"))
    ask.patch(f"{WIDGETS}/a", {"metadata": {"finalizers": None}})

    assert waiting["Terminating"] == ("True", "InstanceDeletionInProgress")
    assert refused[0] == 403
    assert "create not allowed while custom resource definition is terminating" in refused[1]["message"]
    assert ask("GET", ONE)[0] == 404


def test_an_object_made_while_its_definition_goes_does_not_outlive_it(
    sim: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = sim.host("server")
    ask = Asking(APIServer(host))
    define(ask)
    uid = host.uuid()

    def slow_uuid() -> str:
        """Delete the definition at this moment: the server draws a uid after its checks and before the write."""
        ask.ok("DELETE", ONE)
        return uid

    monkeypatch.setattr(host, "uuid", slow_uuid)
    answered = ask("POST", WIDGETS, widget())
    monkeypatch.undo()
    define(ask)

    assert answered[0] == 404
    assert ask.ok("GET", WIDGETS)["items"] == []


def test_a_kind_defined_again_begins_with_nothing_and_no_past(ask: Asking) -> None:
    define(ask)
    made = ask.ok("POST", WIDGETS, widget("a"))
    ask.ok("DELETE", ONE)

    define(ask)

    assert ask.ok("GET", WIDGETS)["items"] == []
    late = events(ask.watch(WIDGETS, resourceVersion=made["metadata"]["resourceVersion"]))
    assert late[0]["object"]["code"] == 410


def owned_by(owner: Object) -> Object:
    reference = {name: owner[name] for name in ("apiVersion", "kind")} | {
        name: owner["metadata"][name] for name in ("name", "uid")
    }
    return {"metadata": {"name": "owned", "ownerReferences": [reference]}}


@pytest.mark.parametrize("how", ["the owner", "its definition"])
def test_what_custom_objects_own_goes_with_them(sim: Simulation, ask: Asking, how: str) -> None:
    upkeep = Upkeep(sim.host("upkeep"), ask.server)
    upkeep.settle()
    define(ask)
    owner = ask.ok("POST", WIDGETS, widget("a"))
    ask.ok("POST", "/api/v1/namespaces/default/configmaps", owned_by(owner))
    upkeep.settle()

    ask.ok("DELETE", f"{WIDGETS}/a" if how == "the owner" else ONE)
    upkeep.settle()

    assert ask("GET", "/api/v1/namespaces/default/configmaps/owned")[0] == 404


def test_a_namespace_ends_with_the_custom_objects_in_it(sim: Simulation, ask: Asking) -> None:
    upkeep = Upkeep(sim.host("upkeep"), ask.server)
    define(ask)
    ask.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    ask.ok("POST", WIDGETS.replace("default", "n"), widget("a"))

    ask.ok("DELETE", "/api/v1/namespaces/n")
    upkeep.settle()

    assert ask("GET", "/api/v1/namespaces/n")[0] == 404
    assert ask.ok("GET", f"/apis/{GROUP}/v1/widgets")["items"] == []


def test_objects_of_a_kind_that_is_served_no_longer_go_with_their_definition(ask: Asking) -> None:
    define(ask)
    ask.ok("POST", WIDGETS, widget("a"))
    ask.patch(ONE, {"spec": {"versions": [version(served=False)]}})
    gone = ask.response("GET", WIDGETS).status

    ask.ok("DELETE", ONE, propagationPolicy="Foreground")
    define(ask)

    assert gone == 404
    assert ask.ok("GET", WIDGETS)["items"] == []


def test_a_definition_with_a_finalizer_of_ones_own_serves_nothing_while_it_waits(ask: Asking) -> None:
    held = definition()
    held["metadata"]["finalizers"] = ["demo.example.com/x"]
    ask.ok("POST", DEFINITIONS, held)

    ask.ok("DELETE", ONE)
    waiting = ask.ok("GET", ONE)["metadata"]["finalizers"]
    served = ask.response("GET", WIDGETS).status
    ask.patch(ONE, {"metadata": {"finalizers": None}})

    assert (waiting, served) == (["demo.example.com/x"], 404)
    assert ask("GET", ONE)[0] == 404
