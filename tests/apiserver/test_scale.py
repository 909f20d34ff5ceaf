# SPDX-License-Identifier: Apache-2.0
"""The subresource `scale`: the number of a workload's replicas, as an object of another kind."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import JSON_PATCH, STRATEGIC, Asking, Object

from embedded_apiserver.label_match import selector_text

APPS = "/apis/apps/v1/namespaces/default"
CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
SCALED = [
    pytest.param(f"{APPS}/deployments", id="deployment"),
    pytest.param(f"{APPS}/replicasets", id="replica set"),
    pytest.param(f"{APPS}/statefulsets", id="stateful set"),
    pytest.param(CONTROLLERS, id="replication controller"),
]


def workload(path: str, **spec: Any) -> Object:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    selector = labels if path == CONTROLLERS else {"matchLabels": labels}
    return {"metadata": {"name": "d"}, "spec": {"selector": selector, "template": template, **spec}}


def scale(replicas: int, **metadata: str) -> Object:
    named = {"name": "d", "namespace": "default", **metadata}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": named, "spec": {"replicas": replicas}}


def replicas(ask: Asking, path: str) -> object:
    return ask.ok("GET", path)["spec"]["replicas"]


@pytest.mark.parametrize("collection", SCALED)
def test_a_scale_tells_how_many_there_should_be_are_and_which(collection: str, ask: Asking) -> None:
    made = ask.ok("POST", collection, workload(collection, replicas=3))
    assert ask.patch(f"{collection}/d/status", {"status": {"replicas": 2}})[0] == 200

    told = ask.ok("GET", f"{collection}/d/scale")

    assert (told["kind"], told["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert set(told["metadata"]) == {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}
    assert told["metadata"]["uid"] == made["metadata"]["uid"]
    assert (told["spec"], told["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "app=a"})


@pytest.mark.parametrize("collection", SCALED)
@pytest.mark.parametrize(
    ("method", "body", "media_type"),
    [
        pytest.param("PUT", scale(5), "application/json", id="update"),
        pytest.param("PATCH", {"spec": {"replicas": 5}}, "application/merge-patch+json", id="merge patch"),
        pytest.param("PATCH", {"spec": {"replicas": 5}}, STRATEGIC, id="strategic patch"),
        pytest.param("PATCH", [{"op": "replace", "path": "/spec/replicas", "value": 5}], JSON_PATCH, id="JSON patch"),
        pytest.param("PATCH", scale(5), APPLY, id="apply"),
    ],
)
def test_a_written_scale_is_the_number_of_its_object(
    collection: str, method: str, body: Any, media_type: str, ask: Asking
) -> None:
    before = ask.ok("POST", collection, workload(collection))
    query = {"fieldManager": "m", "force": "true"} if media_type == APPLY else {"fieldManager": "m"}

    status, told = ask(method, f"{collection}/d/scale", body, headers={"content-type": media_type}, **query)

    after = ask.ok("GET", f"{collection}/d")
    assert (status, told["kind"], told["spec"]) == (200, "Scale", {"replicas": 5})
    assert told["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    assert after["spec"] == {**before["spec"], "replicas": 5}
    assert after["metadata"]["generation"] == 2
    mine = next(entry for entry in after["metadata"]["managedFields"] if entry["manager"] == "m")
    assert (mine["subresource"], mine["fieldsV1"]) == ("scale", {"f:spec": {"f:replicas": {}}})


def test_a_scale_of_zero_is_told_without_a_number(ask: Asking) -> None:
    ask.ok("POST", f"{APPS}/deployments", workload("", replicas=0))

    assert ask.ok("GET", f"{APPS}/deployments/d/scale")["spec"] == {}


def test_a_scale_that_is_applied_by_two_is_a_conflict(ask: Asking) -> None:
    path = f"{APPS}/deployments/d"
    ask.ok("POST", f"{APPS}/deployments", workload(""), fieldManager="creator")
    assert ask.patch(f"{path}/scale", scale(5), APPLY, fieldManager="a", force="true")[0] == 200

    status, refused = ask.patch(f"{path}/scale", scale(6), APPLY, fieldManager="b")

    assert (status, replicas(ask, path)) == (409, 5)
    assert '"a" with subresource "scale"' in refused["message"]


def test_a_scale_changes_nothing_else(ask: Asking) -> None:
    path = f"{APPS}/deployments/d"
    before = ask.ok("POST", f"{APPS}/deployments", workload(""))
    more = {"metadata": {"labels": {"a": "b"}}, "status": {"replicas": 9}, "spec": {"replicas": 1}}

    assert ask.patch(f"{path}/scale", more)[0] == 200

    assert ask.ok("GET", path) == before


@pytest.mark.parametrize(
    ("sent", "code", "kind"),
    [
        pytest.param(scale(-1), 422, "Scale", id="fewer than none"),
        pytest.param(scale(2, uid="other"), 409, "deployments", id="another object of this name"),
        pytest.param(scale(2, resourceVersion="1"), 409, "deployments", id="an older version"),
        pytest.param(scale(2, name="e"), 400, None, id="another name"),
        pytest.param({**scale(2), "kind": "Deployment", "apiVersion": "apps/v1"}, 400, None, id="another kind"),
    ],
)
def test_a_scale_that_makes_no_sense_is_refused(sent: Object, code: int, kind: str | None, ask: Asking) -> None:
    path = f"{APPS}/deployments/d"
    ask.ok("POST", f"{APPS}/deployments", workload(""))

    status, refused = ask("PUT", f"{path}/scale", sent)

    assert (status, refused.get("details", {}).get("kind")) == (code, kind), refused
    assert replicas(ask, path) == 1


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH"])
def test_what_is_not_there_has_no_scale(method: str, ask: Asking) -> None:
    media_type = "application/json" if method == "PUT" else "application/merge-patch+json"

    status, refused = ask(method, f"{APPS}/deployments/d/scale", scale(1), headers={"content-type": media_type})

    assert (status, refused["details"]["kind"]) == (404, "deployments")


def test_a_dry_run_scales_nothing(ask: Asking) -> None:
    path = f"{APPS}/deployments/d"
    ask.ok("POST", f"{APPS}/deployments", workload(""))

    assert ask.ok("PUT", f"{path}/scale", scale(4), dryRun="All")["spec"] == {"replicas": 4}
    assert replicas(ask, path) == 1


def test_a_workload_of_fewer_than_none_is_refused(ask: Asking) -> None:
    assert ask("POST", f"{APPS}/deployments", workload("", replicas=-1))[0] == 422


def test_a_scale_has_a_table_and_a_form_of_its_metadata(ask: Asking) -> None:
    ask.ok("POST", f"{APPS}/deployments", workload("", replicas=3))
    path = f"{APPS}/deployments/d/scale"

    _, table = ask("GET", path, headers={"accept": TABLE}, includeObject="Object")
    _, partial = ask("GET", path, headers={"accept": TABLE.replace("Table", "PartialObjectMetadata")})

    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert (table["rows"][0]["cells"][:3], table["rows"][0]["object"]["kind"]) == (["d", 3, 0], "Scale")
    assert (partial["kind"], partial["metadata"]["name"]) == ("PartialObjectMetadata", "d")


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"b": "2", "a": "1"}, "a=1,b=2", id="plain labels"),
        pytest.param(
            {
                "matchLabels": {"c": "3"},
                "matchExpressions": [
                    {"key": "b", "operator": "In", "values": ["y", "x"]},
                    {"key": "d", "operator": "NotIn", "values": ["z"]},
                    {"key": "e", "operator": "Exists"},
                    {"key": "a", "operator": "DoesNotExist"},
                ],
            },
            "!a,b in (x,y),c=3,d notin (z),e",
            id="by key",
        ),
    ],
)
def test_a_selector_reads_as_one_writes_it_in_a_query(selector: Object, text: str) -> None:
    assert selector_text(selector) == text
