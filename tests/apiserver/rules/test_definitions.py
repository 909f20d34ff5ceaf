# SPDX-License-Identifier: Apache-2.0
"""Custom resource definitions: acceptance, refusals and warnings, and their kinds when they change or are deleted."""

from __future__ import annotations

import functools
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kit.asking import MERGE, Asking, Object, brief, events
from kit.defining import (
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

from controller_runtime.apiserver.server import APIServer
from controller_runtime.apiserver.upkeep.upkeep import Upkeep
from controller_runtime.core.host import Host
from controller_runtime.testing.simulation import Simulation

NAME = f"widgets.{GROUP}"
ONE = f"{DEFINITIONS}/{NAME}"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
AGGREGATED = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


def _listed(items: Object, _: int) -> Object:
    return {"type": "array", "items": items}


def causes(answer: tuple[int, Any]) -> list[str]:
    status, body = answer
    assert status == 422, body
    return [f"{cause['field']}: {cause['message']}" for cause in body["details"]["causes"]]


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


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        pytest.param(
            {**definition(), "metadata": {"name": "x"}},
            'metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group',
            id="another name",
        ),
        pytest.param(
            definition(scope="World"),
            'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
            id="no scope",
        ),
        pytest.param(
            definition(group="demo"),
            'spec.group: Invalid value: "demo": should be a domain with at least one dot',
            id="a group without a dot",
        ),
        pytest.param(
            definition(group="demo.k8s.io"),
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval "
            'annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
            id="a group of Kubernetes",
        ),
        pytest.param(
            definition(version("v1"), version("v2", storage=True)),
            'spec.versions: Invalid value: ["v1","v2"]: must have exactly one version marked as storage version',
            id="two storage versions",
        ),
        pytest.param(
            definition({"name": "v1", "served": True, "storage": True}),
            "spec.versions[0].schema.openAPIV3Schema: Required value",
            id="no schema",
        ),
        pytest.param(
            definition(version(schema=structure({"properties": {}}))),
            "spec.validation.openAPIV3Schema.properties[spec].type: Required value: "
            "must not be empty for specified object fields",
            id="a field without a type",
        ),
        pytest.param(
            definition(version(), version("v2", structure({"type": "array"}))),
            "spec.versions[1].schema.openAPIV3Schema.properties[spec].items: Required value: must be specified",
            id="a list of nothing in one of several versions",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "array"}))),
            "spec.validation.openAPIV3Schema.properties[spec].items: Required value: must be specified",
            id="a list of nothing",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "integer", "default": "x"}))),
            "spec.validation.openAPIV3Schema.properties[spec].default: Invalid value: "
            '"string":  in body must be of type integer: "string"',
            id="a default of another type",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "string", "anyOf": [{"type": "string"}]}))),
            "spec.validation.openAPIV3Schema.properties[spec].anyOf[0].type: Forbidden: must be empty to be structural",
            id="a type in a combination",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "string", "anyOf": [{"$ref": "#/x"}]}))),
            "spec.validation.openAPIV3Schema.properties[spec].anyOf[0].$ref: Forbidden: $ref is not supported",
            id="a reference in a combination",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "string", "anyOf": [{"pattern": "("}]}))),
            'spec.validation.openAPIV3Schema.properties[spec].anyOf[0].pattern: Invalid value: "(": '
            "must be a valid regular expression, but isn't: missing ): (",
            id="no pattern in a combination",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "integer", "multipleOf": 0}))),
            "spec.validation.openAPIV3Schema.properties[spec].multipleOf: Invalid value: 0: must be greater than 0",
            id="multiples of nothing",
        ),
        pytest.param(
            definition(version(schema=structure(functools.reduce(_listed, range(200), {"type": "string"})))),
            "spec.validation.openAPIV3Schema: Forbidden: must not be nested in more than 200 levels",
            id="a schema too deep",
        ),
        pytest.param(
            definition(version(additionalPrinterColumns=[{"name": "a", "type": "word", "jsonPath": "spec"}])),
            'spec.additionalPrinterColumns[0].type: Invalid value: "word": '
            "must be one of boolean,date,integer,number,string",
            id="a column of another type",
        ),
        pytest.param(
            definition(version(selectableFields=[{"jsonPath": ".spec"}])),
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, '
            "boolean or integer. Enum string fields and strings with formats are allowed.",
            id="an object that is selectable",
        ),
        pytest.param(
            definition(names={"kind": "Wi_dget"}),
            'spec.names.kind: Invalid value: "Wi_dget": may have mixed case, but should otherwise match: a DNS-1035 '
            "label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
            "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
            "'[a-z]([-a-z0-9]*[a-z0-9])?')",
            id="a kind that is no name",
        ),
    ],
)
def test_a_wrong_definition_is_refused_at_the_place_that_is_wrong(ask: Asking, wrong: Object, told: str) -> None:
    assert told in causes(ask("POST", DEFINITIONS, wrong))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"scope": "Cluster"}, 'spec.scope: Invalid value: "Cluster": field is immutable', id="scope"),
        pytest.param({"names": {"kind": "W"}}, 'spec.names.kind: Invalid value: "W": field is immutable', id="kind"),
        pytest.param({"group": "a.b"}, 'spec.group: Invalid value: "a.b": field is immutable', id="group"),
    ],
)
def test_an_established_kind_keeps_what_it_is(ask: Asking, change: Object, told: str) -> None:
    define(ask)

    assert told in causes(ask.patch(ONE, {"spec": change}))


def test_a_version_that_was_stored_has_to_stay(ask: Asking) -> None:
    define(ask)

    refused = causes(ask.patch(ONE, {"spec": {"versions": [version("v2", storage=True)]}}))

    assert refused[0].startswith('status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was')


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


def test_what_this_server_leaves_out_it_says(ask: Asking) -> None:
    ruled = structure({"type": "object", "x-kubernetes-validations": [{"rule": "self.a > 1"}]})
    named = structure({"type": "string", "format": "gibberish"})

    by_cel = ask.response("POST", DEFINITIONS, definition(version(schema=ruled)))
    by_format = ask.response("POST", DEFINITIONS, definition(version(schema=named), plural="others", kind="Other"))
    again = ask.response("PUT", ONE, ask.ok("GET", ONE))

    cel = "version v1: x-kubernetes-validations (CEL) are not evaluated by this server"
    assert by_cel.headers["warning"] == f'299 - "{cel}"'
    assert by_format.headers["warning"] == '299 - "unrecognized format \\"gibberish\\""'
    assert "warning" not in again.headers


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


def test_many_definitions_written_at_once_are_all_settled(sim: Simulation, ask: Asking) -> None:
    host = sim.host("writers")
    for letter in "abcd":
        body = definition(plural=f"things{letter}", kind=f"Thing{letter}")
        host.spawn(f"writer-{letter}", partial(ask, "POST", DEFINITIONS, body))
    sim.settle()

    found = ask.ok("GET", DEFINITIONS)["items"]

    assert len(found) == 4
    assert {conditions(one)["Established"] for one in found} == {("True", "InitialNamesAccepted")}


def test_objects_of_a_kind_that_is_served_no_longer_go_with_their_definition(ask: Asking) -> None:
    define(ask)
    ask.ok("POST", WIDGETS, widget("a"))
    ask.patch(ONE, {"spec": {"versions": [version(served=False)]}})
    gone = ask.response("GET", WIDGETS).status

    ask.ok("DELETE", ONE, propagationPolicy="Foreground")
    define(ask)

    assert gone == 404
    assert ask.ok("GET", WIDGETS)["items"] == []


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


def test_a_warning_is_not_repeated_when_something_else_changes(ask: Asking) -> None:
    ruled = structure({"type": "object", "x-kubernetes-validations": [{"rule": "self.a > 1"}]})
    define(ask, version(schema=ruled))
    other = {**ask.ok("GET", ONE)}
    other["spec"]["names"]["shortNames"] = ["wd"]

    assert "warning" not in ask.response("PUT", ONE, other).headers


def test_names_of_other_groups_may_be_the_same(ask: Asking) -> None:
    assert conditions(define(ask, plural="pods", kind="Pod"))["Established"][0] == "True"
    assert conditions(define(ask, plural="pods", kind="Pod", group="other.example.com"))["Established"][0] == "True"


def test_versions_are_discovered_in_the_order_of_preference(ask: Asking) -> None:
    names = ("v1", "foo", "v2beta1", "v10", "v2alpha1", "v2beta2", "v2")
    define(ask, *map(version, names))

    told = [one["version"] for one in ask.ok("GET", f"/apis/{GROUP}")["versions"]]

    assert told == ["v10", "v2", "v1", "v2beta2", "v2beta1", "v2alpha1", "foo"]


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
