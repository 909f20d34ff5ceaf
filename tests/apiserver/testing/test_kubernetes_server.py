# SPDX-License-Identifier: Apache-2.0
"""The server as a test has it, asked by the official client."""

from __future__ import annotations

import json
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import urllib3
import yaml
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

from apimachinery.errors import UsageError
from embedded_apiserver import KubernetesServer, LeftoverWarning, run

MAP = {"metadata": {"name": "a"}, "data": {"key": "value"}}


@pytest.fixture
def server() -> Iterator[KubernetesServer]:
    with run(environment=False) as server:
        yield server


def core_of(kubeconfig: Path) -> client.CoreV1Api:
    api = config.new_client_from_config(config_file=str(kubeconfig))
    api.configuration.retries = False
    return client.CoreV1Api(client.ApiClient(api.configuration))


@pytest.fixture
def core(server: KubernetesServer) -> client.CoreV1Api:
    return core_of(server.kubeconfig)


def status_of_failure(call: ApiException) -> tuple[int, str]:
    return call.status, json.loads(call.body)["reason"]


def test_a_failure_is_answered_as_often_as_the_script_says_and_changes_nothing(
    server: KubernetesServer, core: client.CoreV1Api
) -> None:
    server.fails("POST", "configmaps", status=409, times=2)
    for _ in range(2):
        with pytest.raises(ApiException) as failed:
            core.create_namespaced_config_map("default", MAP)
        assert status_of_failure(failed.value) == (409, "AlreadyExists")

    assert core.list_namespaced_config_map("default").items == []
    core.create_namespaced_config_map("default", MAP)
    assert [(each.verb, each.name, each.status) for each in server.requests] == [
        ("create", "a", 409),
        ("create", "a", 409),
        ("list", "", 200),
        ("create", "a", 201),
    ]


def test_a_failure_without_times_lasts_until_the_server_is_reset(
    server: KubernetesServer, core: client.CoreV1Api
) -> None:
    server.fails("list", "configmaps", status=403, reason="Forbidden", message="not today")
    for _ in range(3):
        with pytest.raises(ApiException, match="not today"):
            core.list_namespaced_config_map("default")

    server.reset()

    assert core.list_namespaced_config_map("default").items == []


def test_the_lines_of_a_script_happen_in_their_order(server: KubernetesServer, core: client.CoreV1Api) -> None:
    server.fails("list", "configmaps", status=500, times=1)
    server.fails("list", "configmaps", status=503, times=1)
    seen = []
    for _ in range(2):
        with pytest.raises(ApiException) as failed:
            core.list_namespaced_config_map("default")
        seen.append(failed.value.status)

    assert seen == [500, 503]
    core.list_namespaced_config_map("default")


def test_a_throttled_client_is_told_when_to_try_again(server: KubernetesServer, core: client.CoreV1Api) -> None:
    server.throttles(retry_after=7, times=1)

    with pytest.raises(ApiException) as failed:
        core.list_namespaced_config_map("default")

    assert status_of_failure(failed.value) == (429, "TooManyRequests")
    assert failed.value.headers["retry-after"] == "7"


@pytest.mark.parametrize(("after", "there"), [(False, []), (True, ["a"])])
def test_a_connection_is_closed_before_or_after_the_write(
    server: KubernetesServer, core: client.CoreV1Api, after: bool, there: list[str]
) -> None:
    server.disconnects("create", "configmaps", after=after, times=1)

    with pytest.raises(urllib3.exceptions.HTTPError):
        core.create_namespaced_config_map("default", MAP)

    assert [each.metadata.name for each in core.list_namespaced_config_map("default").items] == there
    assert server.requests[0].status == 0


def test_a_delayed_request_is_late_while_others_are_answered(server: KubernetesServer, core: client.CoreV1Api) -> None:
    server.delays("get", "configmaps", seconds=3600, name="late")
    core.create_namespaced_config_map("default", MAP)

    # Releases before 37 ask again, and take a pair of timeouts alone.
    with pytest.raises(urllib3.exceptions.HTTPError, match="Read timed out"):
        core.read_namespaced_config_map("late", "default", _request_timeout=(60, 0.3))

    assert core.read_namespaced_config_map("a", "default").data == {"key": "value"}


def test_a_request_that_is_delayed_a_little_is_carried_out(server: KubernetesServer, core: client.CoreV1Api) -> None:
    server.delays("create", "configmaps", seconds=0.01, times=1)

    assert core.create_namespaced_config_map("default", MAP).metadata.name == "a"


def test_watches_that_expire_end_with_410_and_so_do_those_that_go_on_from_before(
    server: KubernetesServer, core: client.CoreV1Api
) -> None:
    core.create_namespaced_config_map("default", MAP)
    seen = core.list_namespaced_config_map("default").metadata.resource_version
    response = core.list_namespaced_config_map(
        "default", watch=True, resource_version=seen, _preload_content=False, timeout_seconds=60
    )
    while not any(each.verb == "watch" and each.status for each in server.requests):
        core.list_namespaced_config_map("default")

    server.expire_watches("configmaps")

    assert b'"code":410' in response.read()
    with pytest.raises(ApiException) as failed:
        for _ in watch.Watch().stream(core.list_namespaced_config_map, "default", resource_version=seen):
            pass
    assert failed.value.status == 410


def test_a_continued_list_and_a_watch_from_before_expire_when_the_history_is_forgotten(
    server: KubernetesServer, core: client.CoreV1Api
) -> None:
    for name in "abc":
        core.create_namespaced_config_map("default", {"metadata": {"name": name}})
    page = core.list_namespaced_config_map("default", limit=1)
    open_one = core.list_namespaced_config_map(
        "default", watch=True, resource_version=page.metadata.resource_version, _preload_content=False
    )

    server.forget_history()

    with pytest.raises(ApiException) as failed:
        core.list_namespaced_config_map("default", limit=1, _continue=page.metadata._continue)
    assert status_of_failure(failed.value) == (410, "Expired")
    core.create_namespaced_config_map("default", {"metadata": {"name": "d"}})
    assert b'"ADDED"' in open_one.read(64)  # an open watch goes on
    open_one.close()


def test_a_user_may_do_what_roles_in_the_server_allow(server: KubernetesServer, core: client.CoreV1Api) -> None:
    alice = core_of(server.user("alice", groups=["developers"]))
    with pytest.raises(ApiException) as failed:
        alice.list_namespaced_config_map("default")
    assert failed.value.status == 403
    assert 'User \\"alice\\" cannot list resource' in failed.value.body

    rights = client.RbacAuthorizationV1Api(core.api_client)
    rights.create_namespaced_role(
        "default",
        {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]},
    )
    rights.create_namespaced_role_binding(
        "default",
        {
            "metadata": {"name": "r"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "developers"}],
        },
    )

    assert alice.list_namespaced_config_map("default").items == []
    assert server.requests[-1].user == "alice"
    assert server.user("alice", groups=["developers"]) == server.user("alice", groups=["developers"])
    assert server.user("alice", groups=["developers"]) != server.user("alice")


def test_the_body_of_a_request_is_kept_as_values(server: KubernetesServer, core: client.CoreV1Api) -> None:
    core.create_namespaced_config_map("default", MAP)
    core.patch_namespaced_config_map("a", "default", {"data": {"key": "other"}})

    assert server.requests[-1].verb == "patch"
    assert server.requests[-1].body == {"data": {"key": "other"}}
    assert (server.requests[0].resource, server.requests[0].namespace) == ("configmaps", "default")
    assert str(server.requests[0]) == "create configmaps default/a by admin: 201"


def test_a_path_that_is_not_served_is_among_the_requests_and_names_the_page_of_kinds(
    server: KubernetesServer, core: client.CoreV1Api
) -> None:
    with pytest.raises(ApiException):
        client.CustomObjectsApi(core.api_client).list_cluster_custom_object("example.com", "v1", "things")

    assert server.requests.told() == (
        "get /apis/example.com/v1/things by admin: 404 (not served: docs/kinds.md lists the kinds that are served)"
    )


def test_time_stands_jumps_and_ends_tokens(server: KubernetesServer, core: client.CoreV1Api) -> None:
    at = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    server.freeze_time(at)
    made = [core.create_namespaced_config_map("default", {"metadata": {"name": name}}) for name in "ab"]
    assert {each.metadata.creation_timestamp for each in made} == {at}
    core.create_namespaced_service_account("default", {"metadata": {"name": "robot"}})
    asked = {"spec": {"audiences": [], "expirationSeconds": 600}}
    token = core.create_namespaced_service_account_token("robot", "default", asked).status.token
    robot = core_of(server.kubeconfig)
    for name in ("BearerToken", "authorization"):
        robot.api_client.configuration.api_key[name] = f"Bearer {token}"
    robot.api_client.configuration.refresh_api_key_hook = None
    with pytest.raises(ApiException) as refused:
        robot.list_namespaced_config_map("default")
    assert refused.value.status == 403

    server.advance_time(3600)

    with pytest.raises(ApiException) as expired:
        robot.list_namespaced_config_map("default")
    assert expired.value.status == 401
    assert core.create_namespaced_config_map(
        "default", {"metadata": {"name": "c"}}
    ).metadata.creation_timestamp == at + timedelta(hours=1)


def test_a_reset_server_is_empty_and_may_be_of_another_release(
    server: KubernetesServer, core: client.CoreV1Api
) -> None:
    core.create_namespaced_config_map("default", MAP)

    server.reset(release="1.33", cluster_objects=True)

    assert client.VersionApi(core.api_client).get_code().git_version.startswith("v1.33.")
    assert [each.metadata.name for each in core.list_namespaced_config_map("default").items] == ["kube-root-ca.crt"]
    assert core.read_namespaced_service_account("default", "default").metadata.name == "default"


def test_dependents_are_deleted_and_namespaces_end_once_garbage_is_collected(
    server: KubernetesServer, core: client.CoreV1Api
) -> None:
    server.garbage_collection()
    core.create_namespace({"metadata": {"name": "shop"}})
    core.create_namespaced_config_map("shop", MAP)
    core.delete_namespace("shop")

    while core.list_namespace(field_selector="metadata.name=shop").items:
        pass

    assert core.list_namespaced_config_map("shop").items == []


def test_what_has_ended_says_so(core: client.CoreV1Api, server: KubernetesServer) -> None:
    server.close()
    server.close()

    with pytest.raises(UsageError, match="this server ended with its test"):
        server.fails("get", "pods")
    with pytest.raises(ApiException, match="no test has this server now") as refused:
        core.list_namespaced_config_map("default")
    assert refused.value.status == 503


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda server: server.fails("get", "pods", status=200), "status=200 is no failure: give one from 400 to 599"),
        (lambda server: server.expire_watches("pod"), "no resource 'pod' is served"),
        (lambda server: server.freeze_time(datetime(2030, 1, 1)), "2030-01-01 00:00:00 has no time zone: write"),
        (lambda server: server.reset(realease="1.33"), "no option 'realease': there are release, "),
        (lambda server: server.reset(release="1.2"), "1.2"),
    ],
)
def test_wrong_use_is_told_by_one_line(server: KubernetesServer, wrong: object, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        wrong(server)  # type: ignore[operator]

    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_port_that_is_taken_is_told_by_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        told = f"port {port} of 127.0.0.1 is taken: choose another one, or 0 for any"
        with pytest.raises(UsageError, match=told), run(port=port, environment=False):
            pass


def test_the_port_is_free_and_the_files_are_gone_after_the_block() -> None:
    with run(environment=False) as server:
        port, folder = int(server.url.rpartition(":")[2]), server.kubeconfig.parent
    with run(port=port, environment=False) as again:
        assert again.url == server.url

    assert not folder.exists()


def test_a_client_that_speaks_plain_http_is_told_so(server: KubernetesServer) -> None:
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as plain:
        plain.sendall(b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = plain.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.0 400 Bad Request\r\n")
    assert answer.endswith(b"Client sent an HTTP request to an HTTPS server.\n")


def test_a_failed_handshake_of_another_kind_gets_no_text(server: KubernetesServer) -> None:
    place = "127.0.0.1", int(server.url.rpartition(":")[2])
    with socket.create_connection(place) as sock, pytest.raises(ssl.SSLError):
        ssl.create_default_context().wrap_socket(sock, server_hostname="localhost")


def test_the_environment_names_the_server_during_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "elsewhere")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")

    with run() as server:
        assert os.environ["KUBECONFIG"] == str(server.kubeconfig)
        assert "KUBERNETES_SERVICE_HOST" not in os.environ

    assert (os.environ["KUBECONFIG"], os.environ["KUBERNETES_SERVICE_HOST"]) == ("elsewhere", "192.0.2.1")
    assert LeftoverWarning.__mro__[1] is UserWarning


def test_a_request_under_way_at_the_end_loses_its_connection_and_an_idle_one_is_kept(
    server: KubernetesServer, core: client.CoreV1Api
) -> None:
    core.list_namespaced_config_map("default")
    user = yaml.safe_load(server.kubeconfig.read_text())["users"][0]["user"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    place = "127.0.0.1", int(server.url.rpartition(":")[2])
    head = (
        f"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {user['token']}\r\n"
    )
    with context.wrap_socket(socket.create_connection(place)) as under_way:
        under_way.sendall(f"{head}Content-Length: 10\r\nExpect: 100-continue\r\n\r\n".encode())
        assert under_way.recv(100).startswith(b"HTTP/1.1 100 Continue")  # the server reads the body

        server.close()

        with suppress(ConnectionError, ssl.SSLError):
            assert under_way.recv(100) == b""
    [pool] = [core.api_client.rest_client.pool_manager.connection_from_url(server.url)]
    with pytest.raises(ApiException, match="no test has this server now"):
        core.list_namespaced_config_map("default")
    assert pool.num_connections == 1
