# SPDX-License-Identifier: Apache-2.0
"""Custom resource definitions: establishment, accepted names, versions and discovery."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kit.apiserver.asking import MERGE, Asking, brief, events
from kit.apiserver.defining import (
    ANYTHING,
    DEFINITIONS,
    GROUP,
    WIDGETS,
    conditions,
    define,
    definition,
    structure,
    version,
    widget,
)

from apimachinery.host import Host
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

NAME = f"widgets.{GROUP}"
ONE = f"{DEFINITIONS}/{NAME}"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
AGGREGATED = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


def test_a_definition_is_established_before_its_creator_can_ask(ask: Asking) -> None:
    watch = ask.watch(DEFINITIONS)

    settled = define(ask, names={"shortNames": ["wd"], "categories": ["all"]})

    assert conditions(settled) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert settled["status"]["acceptedNames"] == settled["spec"]["names"]
    assert settled["spec"]["names"]["singular"] == "widget"
    assert brief(events(watch)) == [("ADDED", NAME), ("MODIFIED", NAME)]
    assert ask("GET", WIDGETS)[0] == 200


def test_a_kind_is_discovered_in_both_forms_and_described(ask: Asking) -> None:
    define(ask, version(subresources={"status": {}}), names={"shortNames": ["wd"], "categories": ["all"]})

    classic = ask.ok("GET", f"/apis/{GROUP}/v1")["resources"]
    aggregated = ask.ok("GET", "/apis", headers=AGGREGATED)["items"][-1]
    index = ask.ok("GET", "/openapi/v3")["paths"]
    described = ask.ok("GET", f"/openapi/v3/apis/{GROUP}/v1")

    assert [entry["name"] for entry in classic] == ["widgets", "widgets/status"]
    assert (classic[0]["shortNames"], classic[0]["categories"]) == (["wd"], ["all"])
    assert aggregated["metadata"]["name"] == GROUP
    assert aggregated["versions"][0]["resources"][0]["subresources"][0]["subresource"] == "status"
    assert f"apis/{GROUP}/v1" in index
    assert "com.example.demo.v1.Widget" in described["components"]["schemas"]
    patches = described["paths"][f"{WIDGETS.replace('default', '{namespace}')}/{{name}}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patches["requestBody"]["content"]


def test_a_definition_whose_status_was_cleared_can_still_be_changed(ask: Asking) -> None:
    define(ask)

    ask.patch(f"{ONE}/status", {"status": None})
    changed = ask.ok("PATCH", ONE, {"metadata": {"labels": {"a": "b"}}}, headers={"content-type": MERGE})

    assert changed["status"]["storedVersions"] == ["v1"]
    assert ask("GET", WIDGETS)[0] == 200


def test_a_default_that_looks_like_a_reference_is_described(ask: Asking) -> None:
    define(ask, version(schema=structure({**ANYTHING, "default": {"$ref": "nowhere"}})))

    described = ask.ok("GET", f"/openapi/v3/apis/{GROUP}/v1")["components"]["schemas"]

    assert described["com.example.demo.v1.Widget"]["properties"]["spec"]["default"] == {"$ref": "nowhere"}


def test_a_name_that_somebody_has_is_not_accepted_until_it_is_free(ask: Asking) -> None:
    define(ask, names={"shortNames": ["wd"]})

    second = define(ask, plural="wooden", kind="Wooden", names={"shortNames": ["wd"]})
    third = define(ask, plural="widgetlists", kind="WidgetList")
    ask.ok("DELETE", ONE)
    freed = ask.ok("GET", f"{DEFINITIONS}/wooden.{GROUP}")

    assert conditions(second) == {
        "NamesAccepted": ("False", "ShortNamesConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert second["status"]["conditions"][0]["message"] == '"wd" is already in use'
    assert conditions(third)["NamesAccepted"] == ("False", "KindConflict")
    assert conditions(freed)["Established"] == ("True", "InitialNamesAccepted")


def test_a_kind_of_the_server_itself_cannot_be_defined_anew(ask: Asking) -> None:
    lease = definition(plural="leases", kind="Lease", group="coordination.k8s.io")
    lease["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved"}
    ask.ok("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", {"metadata": {"name": "a"}})

    ask.ok("POST", DEFINITIONS, lease)
    refused = conditions(ask.ok("GET", f"{DEFINITIONS}/leases.coordination.k8s.io"))
    ask.ok("DELETE", f"{DEFINITIONS}/leases.coordination.k8s.io")

    assert refused["Established"] == ("False", "NotAccepted")
    assert ask("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/a")[0] == 200


def test_kinds_and_objects_are_there_after_a_restart(sim: Simulation, tmp_path: Path) -> None:
    host: Host = sim.host("server")
    first = APIServer(host, data_dir=tmp_path)
    define(Asking(first))
    Asking(first).ok("POST", WIDGETS, widget("a", spec={"x": 1}))
    first.close()

    ask = Asking(APIServer(host, data_dir=tmp_path))

    assert ask.ok("GET", f"{WIDGETS}/a")["spec"] == {"x": 1}
    assert ask.ok("POST", WIDGETS, widget("b"))["metadata"]["name"] == "b"
    ask.server.close()


def test_definitions_have_a_table(ask: Asking) -> None:
    made = define(ask)

    row = ask.ok("GET", ONE, headers=TABLE)["rows"][0]["cells"]

    assert row == [NAME, made["metadata"]["creationTimestamp"]]


def test_many_definitions_written_at_once_are_all_settled(sim: Simulation, ask: Asking) -> None:
    host = sim.host("writers")
    for letter in "abcd":
        body = definition(plural=f"things{letter}", kind=f"Thing{letter}")
        host.spawn(f"writer-{letter}", partial(ask, "POST", DEFINITIONS, body))
    sim.settle()

    found = ask.ok("GET", DEFINITIONS)["items"]

    assert len(found) == 4
    assert {conditions(one)["Established"] for one in found} == {("True", "InitialNamesAccepted")}


def test_another_storage_version_shows_what_is_there(ask: Asking) -> None:
    define(ask, version("v1"), version("v2"))
    ask.ok("POST", WIDGETS, widget("a", spec={"x": 1}))

    versions = [version("v1", storage=False), version("v2", storage=True)]
    ask.patch(ONE, {"spec": {"versions": versions}})

    assert ask.ok("GET", ONE)["status"]["storedVersions"] == ["v1", "v2"]
    assert ask.ok("GET", f"{WIDGETS}/a".replace("/v1/", "/v2/"))["spec"] == {"x": 1}
    assert ask.ok("GET", f"{WIDGETS}/a")["spec"] == {"x": 1}


def test_fields_become_selectable_with_the_definition(ask: Asking) -> None:
    schema = structure({"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}}})
    define(ask, version(schema=schema, selectableFields=[{"jsonPath": ".spec.x"}]))
    ask.ok("POST", WIDGETS, widget("a", spec={"x": "1", "y": "2"}))
    ask.ok("GET", WIDGETS, fieldSelector="spec.x=1")

    ask.patch(ONE, {"spec": {"versions": [version(schema=schema, selectableFields=[{"jsonPath": ".spec.y"}])]}})

    assert len(ask.ok("GET", WIDGETS, fieldSelector="spec.y=2")["items"]) == 1
    assert ask("GET", WIDGETS, fieldSelector="spec.x=1")[0] == 400


def test_only_what_a_definition_says_makes_it_another(ask: Asking) -> None:
    before = define(ask)
    kinds = ask.server.kinds

    _, labelled = ask.patch(ONE, {"metadata": {"labels": {"a": "b"}}})
    same = ask.server.kinds
    _, extended = ask.patch(ONE, {"spec": {"names": {"shortNames": ["wd"]}}})

    generations = [one["metadata"]["generation"] for one in (before, labelled, extended)]
    assert generations == [1, 1, 2]
    assert extended["status"]["storedVersions"] == ["v1"]
    assert same is kinds
    assert ask.server.kinds is not kinds


def test_names_of_other_groups_may_be_the_same(ask: Asking) -> None:
    assert conditions(define(ask, plural="pods", kind="Pod"))["Established"][0] == "True"
    assert conditions(define(ask, plural="pods", kind="Pod", group="other.example.com"))["Established"][0] == "True"


def test_versions_are_discovered_in_the_order_of_preference(ask: Asking) -> None:
    names = ("v1", "foo", "v2beta1", "v10", "v2alpha1", "v2beta2", "v2")
    define(ask, *map(version, names))

    told = [one["version"] for one in ask.ok("GET", f"/apis/{GROUP}")["versions"]]

    assert told == ["v10", "v2", "v1", "v2beta2", "v2beta1", "v2alpha1", "foo"]
