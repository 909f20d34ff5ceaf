# SPDX-License-Identifier: Apache-2.0
"""Rules of the kinds beyond nodes, pods, leases and namespaces."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.apiserver.asking import Asking, Object

from apimachinery.names import config_key_errors, service_name_errors
from embedded_apiserver.groups.coordination import leases
from embedded_apiserver.label_match import selects

CANDIDATES = "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates"
CORE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
BATCH = "/apis/batch/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
OLDEST = "OldestEmulationVersion"


def candidate(**spec: Any) -> Object:
    """Return a valid lease candidate with some fields of its spec replaced."""
    whole = {"leaseName": "l", "binaryVersion": "1.36.0", "emulationVersion": "1.35.0", "strategy": OLDEST}
    return {"metadata": {"name": "c"}, "spec": {**whole, **spec}}


def template(**spec: Any) -> Object:
    pod = {"containers": [{"name": "c", "image": "i"}], **spec}
    return {"metadata": {"labels": {"app": "a"}}, "spec": pod}


def deployment(**spec: Any) -> Object:
    whole = {"selector": {"matchLabels": {"app": "a"}}, "template": template()}
    return {"metadata": {"name": "d"}, "spec": {**whole, **spec}}


@pytest.mark.scenario("D-37")
@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"binaryVersion": ""}, "spec.binaryVersion", id="no binary version"),
        pytest.param({"binaryVersion": "1.30.1.6"}, "spec.binaryVersion", id="four parts"),
        pytest.param({"binaryVersion": "v1.36.0"}, "spec.binaryVersion", id="with a v"),
        pytest.param({"binaryVersion": "1.36.01"}, "spec.binaryVersion", id="leading zero"),
        pytest.param({"emulationVersion": "1.36"}, "spec.emulationVersion", id="emulation of two parts"),
        pytest.param({"emulationVersion": "1.37.0"}, "spec.binaryVersion", id="emulation above binary"),
        pytest.param(
            {"binaryVersion": "1.35.0-alpha.1"}, "spec.binaryVersion", id="a preview comes before its release"
        ),
        pytest.param({"strategy": ""}, "spec.strategy", id="no strategy"),
        pytest.param({"strategy": "Nope"}, "spec.strategy.strategy", id="unknown strategy"),
        pytest.param({"strategy": "a.com/b/c"}, "spec.strategy.strategy", id="two slashes"),
        pytest.param({"emulationVersion": ""}, "spec.emulationVersion", id="nothing to compare"),
        pytest.param({"emulationVersion": "0.0.0"}, "spec.emulationVersion", id="a version of nothing"),
        pytest.param({"leaseName": ""}, "spec.leaseName", id="no lease"),
    ],
)
def test_a_candidate_that_cannot_be_compared_is_refused(spec: Object, field: str, ask: Asking) -> None:
    """A binary version, a strategy and, for the built-in one, an emulation version are required and must be valid."""
    status, refused = ask("POST", CANDIDATES, candidate(**spec))

    assert status == 422
    assert field in [cause["field"] for cause in refused["details"]["causes"]]


@pytest.mark.scenario("D-37")
def test_a_candidate_of_ones_own_strategy_needs_no_emulation_version(ask: Asking) -> None:
    """A candidate with a custom strategy may lack the emulation version."""
    made = ask.ok("POST", CANDIDATES, candidate(strategy="example.com/custom", emulationVersion=""))

    assert made["spec"]["strategy"] == "example.com/custom"


@pytest.mark.parametrize("name", ["host_uuid", "UPPER.case", "x" * 253])
def test_a_candidate_may_be_called_what_a_lease_may_not(name: str, ask: Asking) -> None:
    path = f"{CANDIDATES}/{name}"

    assert ask("PUT", path, {**candidate(), "metadata": {"name": name}})[0] == 201


@pytest.mark.parametrize("name", ["..", "..x", ".", "a/b", "", "ä", "x" * 254])
def test_names_that_would_be_bad_keys(name: str) -> None:
    assert config_key_errors(name)


def test_every_answer_about_candidates_warns_that_they_are_going_away(ask: Asking) -> None:
    answers = [ask.response("GET", CANDIDATES), ask.response("GET", f"{CANDIDATES}/nope")]

    assert [answer.status for answer in answers] == [200, 404]
    assert all("is deprecated in v1.36+" in answer.headers["warning"] for answer in answers)
    assert "v1.36+" in ask.watch(CANDIDATES).headers["warning"]


@given(st.lists(st.tuples(*[st.integers(0, 30)] * 3), min_size=2, max_size=2))
def test_releases_compare_by_their_numbers(releases: list[tuple[int, int, int]]) -> None:
    binary, emulated = (".".join(map(str, release)) for release in releases)
    spec = {**candidate()["spec"], "binaryVersion": binary, "emulationVersion": emulated, "strategy": "x.io/y"}

    causes = leases.candidate({"spec": spec})

    assert (not causes) is (releases[0] >= releases[1])


@pytest.mark.parametrize(
    ("path", "obj", "field"),
    [
        pytest.param(f"{CORE}/configmaps", {"data": {"a/b": "x"}}, "data[a/b]", id="key with a slash"),
        pytest.param(f"{CORE}/configmaps", {"data": {"a": "x"}, "binaryData": {"a": "eA=="}}, "data[a]",
                     id="key twice"),
        pytest.param(f"{CORE}/configmaps", {"data": {"a": "x" * 1048577}}, "", id="too much"),
        pytest.param(f"{CORE}/secrets", {"data": {"": "eA=="}}, "data[]", id="no key"),
        pytest.param(f"{CORE}/services", {"spec": {}}, "spec.ports", id="no ports"),
        pytest.param(f"{APPS}/deployments", {"spec": {"template": template()}}, "spec.selector", id="no selector"),
        pytest.param(f"{APPS}/deployments", deployment(selector={"matchLabels": {"app": "b"}}),
                     "spec.template.metadata.labels", id="selects other pods"),
        pytest.param(f"{APPS}/deployments", deployment(template=template(restartPolicy="Never")),
                     "spec.template.spec.restartPolicy", id="pods that end"),
        pytest.param(f"{APPS}/deployments", deployment(template=template(containers=[])),
                     "spec.template.spec.containers", id="pods of nothing"),
        pytest.param(f"{BATCH}/jobs", {"spec": {"template": template()}}, "spec.template.spec.restartPolicy",
                     id="a job that never ends"),
        pytest.param(f"{BATCH}/cronjobs",
                     {"spec": {"jobTemplate": {"spec": {"template": template(restartPolicy="Never")}}}},
                     "spec.schedule", id="no schedule"),
        pytest.param("/apis/policy/v1/namespaces/default/poddisruptionbudgets",
                     {"spec": {"minAvailable": 1, "maxUnavailable": 1}}, "spec", id="a budget from both sides"),
        pytest.param(f"{RBAC}/roles", {"rules": [{"resources": ["pods"]}]}, "rules[0].verbs", id="rule without verbs"),
        pytest.param(f"{RBAC}/rolebindings", {"roleRef": {"kind": "Role", "name": ""}}, "roleRef.name", id="no role"),
    ],
)  # fmt: skip
def test_an_object_that_makes_no_sense_is_refused(path: str, obj: Object, field: str, ask: Asking) -> None:
    status, refused = ask("POST", path, {"metadata": {"name": "x"}, **obj})

    assert status == 422
    assert field in [cause["field"] for cause in refused["details"]["causes"]]


def test_a_service_is_no_more_than_a_label_that_begins_with_a_letter() -> None:
    assert service_name_errors("a-1") == []
    assert service_name_errors("1-a")
    assert service_name_errors("a.b")


def test_a_secret_written_as_text_is_kept_as_bytes(ask: Asking) -> None:
    made = ask.ok("POST", f"{CORE}/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "ä"}})

    assert (made["type"], made["data"]) == ("Opaque", {"a": base64.b64encode("ä".encode()).decode()})
    assert "stringData" not in made


@pytest.mark.parametrize(
    ("collection", "change"),
    [
        pytest.param("configmaps", {"data": {"a": "eQ=="}}, id="config map"),
        pytest.param("secrets", {"data": {"a": "eQ=="}}, id="secret"),
        pytest.param("secrets", {"immutable": None}, id="no way back"),
        pytest.param("secrets", {"type": "x.io/y"}, id="type of a secret"),
    ],
)
def test_what_is_immutable_stays(collection: str, change: Object, ask: Asking) -> None:
    path = f"{CORE}/{collection}"
    ask.ok("POST", path, {"metadata": {"name": "x"}, "data": {"a": "eA=="}, "immutable": True})

    assert ask.patch(f"{path}/x", change)[0] == 422
    assert ask.patch(f"{path}/x", {"metadata": {"labels": {"a": "b"}}})[0] == 200


def test_a_deployment_counts_the_changes_of_its_spec(ask: Asking) -> None:
    path = f"{APPS}/deployments"
    made = ask.ok("POST", path, {**deployment(), "status": {"replicas": 9}})

    _, scaled = ask.patch(f"{path}/d", {"spec": {"replicas": 3}})
    _, labelled = ask.patch(f"{path}/d", {"metadata": {"labels": {"a": "b"}}, "status": {"replicas": 9}})
    _, reported = ask.patch(f"{path}/d/status", {"status": {"replicas": 3}, "spec": {"replicas": 7}})

    assert [one["metadata"]["generation"] for one in (made, scaled, labelled, reported)] == [1, 2, 2, 2]
    assert [one["spec"]["replicas"] for one in (made, scaled, labelled, reported)] == [1, 3, 3, 3]
    assert [one["status"] for one in (made, labelled, reported)] == [{}, {}, {"replicas": 3}]


@pytest.mark.parametrize(
    ("path", "spec", "defaults"),
    [
        pytest.param(f"{APPS}/deployments", {}, {"strategy": {"type": "RollingUpdate", "rollingUpdate": {
            "maxUnavailable": "25%", "maxSurge": "25%"}}, "revisionHistoryLimit": 10}, id="deployment"),
        pytest.param(f"{APPS}/deployments", {"strategy": {"type": "Recreate"}}, {"strategy": {"type": "Recreate"}},
                     id="deployment that starts anew"),
        pytest.param(f"{APPS}/daemonsets", {}, {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {
            "maxUnavailable": 1, "maxSurge": 0}}}, id="daemon set"),
        pytest.param(f"{APPS}/statefulsets", {}, {"podManagementPolicy": "OrderedReady", "replicas": 1,
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}},
                     id="stateful set"),
        pytest.param(f"{APPS}/replicasets", {}, {"replicas": 1}, id="replica set"),
    ],
)  # fmt: skip
def test_a_spec_says_what_is_meant_where_it_was_silent(path: str, spec: Object, defaults: Object, ask: Asking) -> None:
    made = ask.ok("POST", path, deployment(**spec))

    assert made["spec"].items() >= defaults.items()
    assert made["spec"]["template"]["spec"]["restartPolicy"] == "Always"


def test_a_selector_of_pods_never_changes(ask: Asking) -> None:
    ask.ok("POST", f"{APPS}/deployments", deployment())
    change = {"selector": {"matchLabels": {"app": "b"}}, "template": {"metadata": {"labels": {"app": "b"}}}}

    status, refused = ask.patch(f"{APPS}/deployments/d", {"spec": change})

    assert (status, refused["details"]["causes"][0]["field"]) == (422, "spec.selector")


def test_a_job_selects_by_its_uid(ask: Asking) -> None:
    sent = {"metadata": {"name": "j"}, "spec": {"template": template(restartPolicy="Never")}}

    made = ask.ok("POST", f"{BATCH}/jobs", sent)

    spec, uid = made["spec"], made["metadata"]["uid"]
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert spec["template"]["metadata"]["labels"].items() >= {"app": "a", "job-name": "j"}.items()
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (1, 1, 6)


def test_a_binding_of_a_role_names_another_only_by_being_another(ask: Asking) -> None:
    path = f"{RBAC}/rolebindings"
    sent = {
        "metadata": {"name": "b"},
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}],
    }
    made = ask.ok("POST", path, sent)

    status, _ = ask.patch(f"{path}/b", {"roleRef": {"name": "other"}})

    assert made["roleRef"]["apiGroup"] == made["subjects"][0]["apiGroup"] == "rbac.authorization.k8s.io"
    assert status == 422


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({}, True, id="everything"),
        pytest.param({"matchLabels": {"a": "1"}}, True, id="label"),
        pytest.param({"matchLabels": {"a": "2"}}, False, id="other label"),
        pytest.param({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, True, id="in"),
        pytest.param({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}, True, id="not in"),
        pytest.param({"matchExpressions": [{"key": "b", "operator": "Exists"}]}, False, id="exists"),
        pytest.param({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}, True, id="does not exist"),
        pytest.param({"matchExpressions": [{"key": "a", "operator": "Near"}]}, False, id="no such operator"),
    ],
)
def test_a_selector_in_an_object_selects(selector: Object, expected: bool) -> None:
    assert selects(selector, {"a": "1"}) is expected
