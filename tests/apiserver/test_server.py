# SPDX-License-Identifier: Apache-2.0
"""The server as a whole: authentication, discovery, failures and restarts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit.apiserver.asking import LEASES, NODES, Asking, Object, lease, version

from apimachinery.errors import UsageError
from apimachinery.http import BODY_LIMIT
from apimachinery.log import text_of
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History
from embedded_apiserver.storage.stored import Draft


@pytest.fixture
def guarded(sim: Simulation) -> Asking:
    """A server with a token."""
    return Asking(APIServer(sim.host("guarded"), token="secret"))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param("/api", "APIVersions", id="core"),
        pytest.param("/apis", "APIGroupList", id="groups"),
        pytest.param("/api/v1", "APIResourceList", id="core resources"),
        pytest.param("/apis/coordination.k8s.io", "APIGroup", id="group"),
        pytest.param("/apis/coordination.k8s.io/v1", "APIResourceList", id="resources of a group"),
    ],
)
def test_what_is_served_can_be_discovered(path: str, kind: str, ask: Asking) -> None:
    assert ask.ok("GET", path)["kind"] == kind


def test_resources_tell_their_verbs_and_parts(ask: Asking) -> None:
    found = {entry["name"]: entry for entry in ask.ok("GET", "/api/v1")["resources"]}

    assert found["nodes"]["shortNames"] == ["no"]
    assert found["nodes/status"]["verbs"] == ["get", "patch", "update"]
    assert found["namespaces/finalize"]["verbs"] == ["update"]
    assert "deletecollection" not in found["namespaces"]["verbs"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/", 404, id="root"),
        pytest.param("GET", "/nope", 404, id="unknown"),
        pytest.param("GET", "/apis/nope.example.com/v1/things", 404, id="unknown group"),
        pytest.param("GET", "/api/v1/nopes", 404, id="unknown kind"),
        pytest.param("GET", "/api/v1/nodes/n/nope", 404, id="unknown part"),
        pytest.param("GET", "/api/v1/nodes/n/status/more", 404, id="too long"),
        pytest.param("GET", "/api/v1/namespaces/default/nodes", 404, id="cluster-scoped kind in a namespace"),
        pytest.param("GET", "/api/v1/pods/p", 404, id="namespaced object without namespace"),
        pytest.param("GET", "/api/v1//nodes", 404, id="empty segment"),
        pytest.param("POST", "/api/v1/nodes/n", 405, id="post of an object"),
        pytest.param("PUT", "/api/v1/nodes", 405, id="put of a collection"),
        pytest.param("POST", "/api/v1/pods", 405, id="post in all namespaces"),
        pytest.param("DELETE", "/api/v1/pods", 405, id="deletion in all namespaces"),
        pytest.param("DELETE", "/api/v1/nodes/n/status", 405, id="deletion of a part"),
        pytest.param("GET", "/api/v1/namespaces/default/finalize", 405, id="reading what can only be put"),
        pytest.param("BREW", "/api/v1/nodes", 405, id="unknown method"),
    ],
)
def test_path_or_method_is_refused(method: str, path: str, status: int, ask: Asking) -> None:
    assert ask.response(method, path).status == status


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        pytest.param("", 200, id="nothing said"),
        pytest.param("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", 200, id="kubectl"),
        pytest.param("application/vnd.kubernetes.protobuf, */*;q=0.1", 200, id="anything else"),
        pytest.param("application/json;as=Table;v=v1;g=meta.k8s.io", 200, id="table only"),
        pytest.param("application/json;as=Table;v=v9;g=meta.k8s.io", 406, id="table of tomorrow"),
        pytest.param("application/yaml", 200, id="YAML"),
        pytest.param("application/vnd.kubernetes.protobuf", 200, id="protobuf only"),
        pytest.param("text/html", 406, id="page"),
    ],
)
def test_form_is_negotiated(accept: str, status: int, ask: Asking) -> None:
    assert ask.response("GET", LEASES, headers={"accept": accept}).status == status


def test_a_refusal_in_a_form_that_is_not_accepted_is_indented_as_by_a_real_server(ask: Asking) -> None:
    answer = ask.response("GET", LEASES, headers={"accept": "text/html"})

    assert answer.headers["content-type"] == "application/json"
    assert answer.body.startswith(b'{\n  "kind": "Status",\n  "apiVersion": "v1",\n  "metadata": {},\n')
    assert answer.body.endswith(b'"reason": "NotAcceptable",\n  "details": {},\n  "code": 406\n}')


@pytest.mark.scenario("H-70")
def test_body_above_the_limit_is_refused(ask: Asking) -> None:
    """A body of three MiB is accepted, a longer one is refused."""
    status, body = ask("POST", LEASES, b" " * (BODY_LIMIT + 1))

    assert (status, body["reason"]) == (413, "RequestEntityTooLarge")
    assert ask("POST", LEASES, b" " * BODY_LIMIT)[0] == 400


def test_unexpected_failure_is_answered_and_logged(ask: Asking, caplog: pytest.LogCaptureFixture) -> None:
    unreadable = Draft(b'{"metadata":{"resourceVersion":"', b"nonsense")
    ask.server.storage.commit("leases.coordination.k8s.io", "default/a", None, unreadable)

    status, body = ask("GET", LEASES, labelSelector="x=1")

    assert (status, body["reason"]) == (500, "InternalError")
    assert body["message"].startswith("Internal error occurred: DecodeError: ")
    assert [text_of(record) for record in caplog.records] == ["request failed"]
    assert caplog.records[0].exc_info


def test_server_begins_with_the_namespaces_that_clients_expect(ask: Asking) -> None:
    listed = ask.ok("GET", "/api/v1/namespaces")

    names = [item["metadata"]["name"] for item in listed["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


@pytest.mark.scenario("H-62")
def test_restarted_server_has_its_objects_and_larger_versions(sim: Simulation, tmp_path: Path) -> None:
    """After a restart all acknowledged writes are there; older watches cannot be resumed."""
    host = sim.host("apiserver")
    first = Asking(APIServer(host, data_dir=tmp_path))
    made = first.ok("POST", LEASES, lease("a"))
    before = first.ok("GET", "/api/v1/namespaces")["items"]
    first.server.close()
    sim.jump(host, -86400)

    again = Asking(APIServer(host, data_dir=tmp_path))

    assert again.ok("GET", f"{LEASES}/a") == made
    assert again.ok("GET", "/api/v1/namespaces")["items"] == before
    assert version(again.ok("POST", LEASES, lease("b"))) > version(made)
    lines, over = again.watch(LEASES, resourceVersion=version(made)).take()
    assert over
    assert json.loads(lines[0])["object"]["code"] == 410
    again.server.close()


def test_server_in_memory_outruns_the_versions_of_its_predecessor(sim: Simulation) -> None:
    host = sim.host("apiserver")
    first = Asking(APIServer(host))
    last = [version(first.ok("POST", NODES, {"metadata": {"name": f"n{n}"}})) for n in range(10)][-1]
    sim.advance(1)

    second = Asking(APIServer(host))

    assert version(second.ok("GET", NODES)) > last


def test_data_directory_that_cannot_be_used_is_one_clear_error(sim: Simulation, tmp_path: Path) -> None:
    (tmp_path / "objects.sqlite").write_text("nonsense, and long enough to be no empty database" * 100)

    with pytest.raises(UsageError, match=f"data directory {tmp_path} is damaged"):
        APIServer(sim.host("apiserver"), data_dir=tmp_path)


@pytest.mark.parametrize("field", [{"changes": 0}, {"age": 0.0}])
def test_history_that_keeps_nothing_is_refused(field: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(field))):
        History(**field)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", NODES, None, id="list"),
        pytest.param("GET", f"{NODES}/n", None, id="object"),
        pytest.param("POST", NODES, {"metadata": {"name": "other"}}, id="creation"),
        pytest.param("DELETE", f"{NODES}/n", None, id="deletion"),
        pytest.param("GET", f"{NODES}/none", None, id="refusal"),
        pytest.param("GET", "/apis", None, id="discovery"),
    ],
)
@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
        "application/yaml,application/json",
    ],
)
def test_an_answer_ends_with_one_newline(method: str, path: str, body: Object | None, accept: str, ask: Asking) -> None:
    ask.ok("POST", NODES, {"metadata": {"name": "n"}})

    answer = ask.response(method, path, body, headers={"accept": accept}).body

    assert answer.endswith(b"\n")
    assert not answer.endswith(b"\n\n")


def test_wrong_credentials_come_before_impersonation(guarded: Asking) -> None:
    assert guarded("GET", NODES, headers={"authorization": "Bearer wrong", "impersonate-user": "jane"})[0] == 401


@pytest.mark.parametrize("version", ["1", "abc", "0"])
def test_a_create_that_is_only_tried_may_name_a_version(version: str, ask: Asking) -> None:
    tried = ask.ok("POST", LEASES, lease("a", {"resourceVersion": version}), dryRun="All")

    assert tried["spec"]["holderIdentity"] == "a"
    assert ask("GET", f"{LEASES}/a")[0] == 404
