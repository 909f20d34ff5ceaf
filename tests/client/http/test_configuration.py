# SPDX-License-Identifier: Apache-2.0
"""The address and the trust of a cluster are read from files; an error is one line with the file and the remedy."""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path

import pytest
import yaml
from kit.official import configured
from kubernetes.client import Configuration

from apimachinery.errors import ConnectionLost, UsageError
from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from controller_runtime.client.client import Client
from controller_runtime.client.http import configuration as pod
from controller_runtime.client.http.configuration import from_kubeconfig, in_cluster, is_in_cluster
from controller_runtime.client.http.credentials import Credential
from controller_runtime.client.http.endpoint import endpoint_of
from controller_runtime.client.http.rest_config import RESTConfig, source_of
from controller_runtime.client.http.transport import HTTPTransport
from embedded_apiserver.shell.tls import make_certificates

HOST = SystemHost()


def config(**cluster: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443", **cluster}}],
        "users": [{"name": "u", "user": {"token": "s3cret"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def written(folder: Path, content: object) -> Path:
    path = folder / "kubeconfig"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_a_kubeconfig_says_where_and_as_whom(tmp_path: Path) -> None:
    configuration = from_kubeconfig(written(tmp_path, config()), "x")

    assert configuration.host == "https://127.0.0.1:6443"
    assert credential_of(configuration).header == "Bearer s3cret"


def test_the_environment_names_the_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(written(tmp_path, config(server="https://elsewhere.test"))))

    assert from_kubeconfig().host == "https://elsewhere.test"


@pytest.mark.parametrize(
    ("content", "context", "told"),
    [
        pytest.param(None, None, "does not exist: name another file", id="missing"),
        pytest.param("", None, "file is empty", id="empty"),
        pytest.param("just text", None, "is not a kubeconfig", id="text"),
        pytest.param("{[", None, "is not a kubeconfig", id="broken YAML"),
        pytest.param("[1, 2]", None, "is not a kubeconfig", id="a list"),
        pytest.param(config(), "y", r"\(context 'y'\): it has no context 'y'; choose one of: x;", id="missing context"),
        pytest.param(
            {**config(), "clusters": []}, None, "has no cluster 'c', which the context 'x' names", id="missing cluster"
        ),
        pytest.param(
            {**config(), "current-context": ""},
            None,
            "it has no current context; choose one of: x;",
            id="no current context",
        ),
        pytest.param(
            {**config(), "users": []}, None, "has no user 'u', which the context 'x' names", id="missing user"
        ),
        pytest.param(config(**{"certificate-authority": "nowhere.crt"}), None, "nowhere.crt", id="missing CA file"),
        pytest.param(config(server=""), None, "its cluster has no server", id="no server"),
        pytest.param(config(server=7), None, r"Expected `str.*clusters\[0\]\.cluster\.server", id="a number as server"),
        pytest.param(config(**{"certificate-authority-data": "a"}), None, "is not a kubeconfig", id="CA not base64"),
        pytest.param(
            config(**{"certificate-authority-data": "!!!"}),
            None,
            "certificate-authority-data is not",
            id="CA of nothing",
        ),
    ],
)
def test_an_unusable_kubeconfig_is_one_line_that_names_it(
    tmp_path: Path, content: object, context: str | None, told: str
) -> None:
    path = tmp_path / "kubeconfig" if content is None else written(tmp_path, content)

    with pytest.raises(UsageError, match=told) as caught:
        from_kubeconfig(path, context)

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_client_reaches_the_server_of_the_context_that_it_is_given(tmp_path: Path) -> None:
    far = {"name": "far", "cluster": {"server": "https://far.test"}}
    document = config()
    document["clusters"] = [far, {"name": "c", "cluster": {"server": "https://near.test"}}]
    document["contexts"] = [
        {"name": name, "context": {"cluster": of, "user": "u"}} for name, of in (("x", "c"), ("y", "far"))
    ]
    path = written(tmp_path, document)

    servers = [str(Client.from_kubeconfig(path, context).transport) for context in (None, "y")]

    assert servers == ["near.test:443", "far.test:443"]


def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        from_kubeconfig(tmp_path)


def test_outside_a_pod_there_is_no_in_cluster_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    assert not is_in_cluster()
    with pytest.raises(UsageError, match="outside a pod, name a kubeconfig"):
        in_cluster()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        pytest.param({"ssl_ca_cert": "/nowhere/ca.crt"}, "certificate authority .*/nowhere/ca.crt", id="no CA file"),
        pytest.param({"ca_cert_data": "garbage"}, "certificate authority", id="no certificate"),
        pytest.param(
            {"cert_file": "/nowhere/c.pem", "key_file": "/k"}, "client certificate .*/nowhere", id="no client"
        ),
        pytest.param({"host": "ftp://x"}, "API server 'ftp://x' cannot be used", id="another protocol"),
        pytest.param({"host": "https://x:99999"}, "API server", id="impossible port"),
        pytest.param({"host": "nonsense"}, "API server 'nonsense'", id="no address"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_at_once(changes: dict[str, str], told: str) -> None:
    configuration = Configuration(host="https://127.0.0.1:6443")
    for name, value in changes.items():
        setattr(configuration, name, value)

    with pytest.raises(UsageError, match=told):
        HTTPTransport(HOST, configuration)


def test_a_proxy_of_another_kind_is_refused() -> None:
    configuration = configured("https://api.test", proxy="socks5://127.0.0.1:1", no_proxy="")
    configuration.verify_ssl = False

    with pytest.raises(UsageError, match="proxy 'socks5://"):
        HTTPTransport(HOST, configuration)


def test_an_embedded_authority_is_trusted(tmp_path: Path) -> None:
    authority = make_certificates(HOST.now()).authority
    data = base64.b64encode(authority).decode()

    configuration = from_kubeconfig(written(tmp_path, config(**{"certificate-authority-data": data})))

    assert str(configuration.ca_cert_data).encode() == authority
    HTTPTransport(HOST, configuration).close()


def test_credentials_that_cannot_be_had_are_told_when_they_are_needed() -> None:
    configuration = Configuration(host="http://127.0.0.1:1")
    configuration.api_key = {"BearerToken": "x"}

    def fail(_: Configuration) -> None:
        raise RuntimeError("the plugin failed")

    configuration.refresh_api_key_hook = fail
    transport = HTTPTransport(HOST, configuration)
    with pytest.raises(ConnectionLost, match="credentials could not be refreshed: the plugin failed"):
        transport.request(HTTPRequest("GET", "/x"), HOST.monotonic() + 10.0)


def credential_of(configuration: RESTConfig) -> Credential:
    return source_of(configuration).ask()


def test_a_token_file_is_followed_and_is_beside_the_kubeconfig_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    content = {**config(), "users": [{"name": "u", "user": {"tokenFile": "token", "token": "another"}}]}
    configuration = from_kubeconfig(written(tmp_path, content))

    first = credential_of(configuration)
    (tmp_path / "token").write_text("two\n")

    assert (first.header, credential_of(configuration).header) == ("Bearer one", "Bearer two")


def test_a_token_that_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    content = {**config(), "users": [{"name": "u", "user": {"token": "s3\ncret"}}]}

    with pytest.raises(UsageError, match="the token cannot be sent: it contains a line break"):
        from_kubeconfig(written(tmp_path, content))


def test_a_constant_token_is_not_asked_for_again(tmp_path: Path) -> None:
    source = source_of(from_kubeconfig(written(tmp_path, config())))

    assert not source.is_followed
    assert source.ask().header == "Bearer s3cret"


def test_a_name_and_a_password_are_told_as_such(tmp_path: Path) -> None:
    content = {**config(), "users": [{"name": "u", "user": {"username": "me", "password": "s3cret"}}]}

    assert credential_of(from_kubeconfig(written(tmp_path, content))).header == "Basic bWU6czNjcmV0"


def plugged(tmp_path: Path, **more: object) -> dict[str, object]:
    """Makes a kubeconfig with a plugin, whose token lists the arguments and the input that the plugin received."""
    plugin = tmp_path / "plugin"
    plugin.write_text(
        "#!/usr/bin/env python3\n"
        "import json, os, sys\n"
        "open(os.path.join(os.path.dirname(sys.argv[0]), 'ran'), 'w').close()\n"
        "told = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "token = json.dumps([sys.argv[1:], os.environ['WHO'], told['spec']])\n"
        "print(json.dumps({**told, 'status': {'token': token}}))\n"
    )
    plugin.chmod(0o755)
    said = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", "args": ["a"], **more}
    said["env"] = [{"name": "WHO", "value": "me"}]
    return {**config(), "users": [{"name": "u", "user": {"exec": said}}]}


def test_a_plugin_is_run_with_what_the_kubeconfig_says_and_not_before_it_is_needed(tmp_path: Path) -> None:
    path = written(tmp_path, plugged(tmp_path))

    configuration = from_kubeconfig(path)

    assert not (tmp_path / "ran").exists()
    assert credential_of(configuration).header == 'Bearer [["a"], "me", {"interactive": false}]'


def test_a_plugin_that_asks_for_it_is_told_of_the_cluster(tmp_path: Path) -> None:
    authority = make_certificates(HOST.now()).authority
    (tmp_path / "ca.crt").write_bytes(authority)
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "us"}}
    cluster = config(**{"certificate-authority": "ca.crt", "tls-server-name": "api.test", "extensions": [extension]})
    content = {**plugged(tmp_path, provideClusterInfo=True), "clusters": cluster["clusters"]}

    header = credential_of(from_kubeconfig(written(tmp_path, content))).header

    told = json.loads(str(header).removeprefix("Bearer "))[2]["cluster"]
    assert told == {
        "server": "https://127.0.0.1:6443",
        "tls-server-name": "api.test",
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "config": {"audience": "us"},
    }


@pytest.mark.parametrize("missing", ["command", "apiVersion"])
def test_a_plugin_that_is_not_said_whole_is_refused(tmp_path: Path, missing: str) -> None:
    content = plugged(tmp_path)
    del content["users"][0]["user"]["exec"][missing]  # type: ignore[index]

    with pytest.raises(UsageError, match=f"the exec of its user has no {missing}"):
        from_kubeconfig(written(tmp_path, content))


def test_a_plugin_that_insists_on_a_terminal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'\./plugin' needs a terminal"):
        from_kubeconfig(written(tmp_path, plugged(tmp_path, interactiveMode="Always")))


def test_a_plugin_that_fails_is_told_when_it_is_needed(tmp_path: Path) -> None:
    content = plugged(tmp_path, installHint="get it\nfrom us")
    (tmp_path / "plugin").unlink()

    transport = HTTPTransport(HOST, from_kubeconfig(written(tmp_path, content)))

    with pytest.raises(ConnectionLost, match="plugin' cannot be run: No such file or directory; get it from us"):
        transport.request(HTTPRequest("GET", "/x"), HOST.monotonic() + 10.0)


def test_the_proxy_of_a_cluster_is_used_whatever_the_environment_says_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    proxied = from_kubeconfig(written(tmp_path, config(**{"proxy-url": "http://proxy.test:3128"})))
    monkeypatch.setenv("HTTPS_PROXY", "http://elsewhere.test:3128")
    direct = from_kubeconfig(written(tmp_path, config()))
    monkeypatch.setenv("NO_PROXY", "")
    by_environment = from_kubeconfig(written(tmp_path, config()))

    proxies = [endpoint_of(each, "us").proxy for each in (proxied, direct, by_environment)]
    assert [proxy and proxy.address for proxy in proxies] == [("proxy.test", 3128), None, ("elsewhere.test", 3128)]


@pytest.mark.parametrize(
    ("host", "address"),
    [pytest.param("10.0.0.1", ("10.0.0.1", 443), id="v4"), pytest.param("fd00::1", ("fd00::1", 443), id="v6")],
)
def test_a_pod_follows_the_token_that_is_mounted_into_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, address: tuple[str, int]
) -> None:
    (tmp_path / "token").write_text("one")
    (tmp_path / "ca.crt").write_bytes(make_certificates(HOST.now()).authority)
    monkeypatch.setattr(pod, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(pod, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    assert is_in_cluster()
    configuration = in_cluster()
    first = credential_of(configuration)
    (tmp_path / "token").write_text("two")

    assert endpoint_of(configuration, "us").address == address
    assert (first.header, credential_of(configuration).header) == ("Bearer one", "Bearer two")


def test_a_certificate_may_be_part_of_the_kubeconfig_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "mkstemp", None)  # the official loader writes files, which others may remove
    certificates = make_certificates(HOST.now())
    certificate, key = (base64.b64encode(data).decode() for data in (certificates.server, certificates.key))
    user = {"client-certificate-data": certificate, "client-key-data": key}

    configuration = from_kubeconfig(written(tmp_path, {**config(), "users": [{"name": "u", "user": user}]}))

    assert configuration.client_certificate == (certificates.server.decode(), certificates.key.decode())
    assert configuration.cert_file is None


@pytest.mark.parametrize("alone", ["client-certificate-data", "client-key-data"])
def test_a_certificate_without_its_key_is_refused(tmp_path: Path, alone: str) -> None:
    content = {**config(), "users": [{"name": "u", "user": {alone: base64.b64encode(b"x").decode()}}]}

    with pytest.raises(UsageError, match="a client certificate without a key, or a key without a certificate"):
        from_kubeconfig(written(tmp_path, content))


def test_a_certificate_that_is_none_is_refused_at_once(tmp_path: Path) -> None:
    data = base64.b64encode(b"garbage").decode()
    user = {"client-certificate-data": data, "client-key-data": data}
    configuration = from_kubeconfig(written(tmp_path, {**config(), "users": [{"name": "u", "user": user}]}))

    with pytest.raises(UsageError, match=r"client certificate \(in the kubeconfig\) cannot be used"):
        HTTPTransport(HOST, configuration)


def test_an_auth_provider_that_nobody_has_any_more_is_refused(tmp_path: Path) -> None:
    content = {**config(), "users": [{"name": "u", "user": {"auth-provider": {"name": "azure"}}}]}

    with pytest.raises(UsageError, match="the auth provider 'azure' of its user is gone: use a credential plugin"):
        from_kubeconfig(written(tmp_path, content))


def test_the_official_client_gets_the_same_address_and_the_present_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")
    content = {**config(), "users": [{"name": "u", "user": {"tokenFile": "token"}}]}
    official = from_kubeconfig(written(tmp_path, content)).official()

    (tmp_path / "token").write_text("two")

    assert official.host == "https://127.0.0.1:6443"
    assert official.auth_settings()["BearerToken"]["value"] == "Bearer two"


def test_an_auth_provider_renews_what_it_gave(tmp_path: Path) -> None:
    plugin = tmp_path / "gcloud"
    expired = {"access_token": "$(cat n)", "token_expiry": "2020-01-01T00:00:00Z"}
    said = json.dumps({"credential": expired}).replace('"', '\\"')
    plugin.write_text(f'#!/bin/sh\ncd {tmp_path}; echo x >> n; echo "{said}" | tr -d "\\n"\n')
    plugin.chmod(0o755)
    provider = {"name": "gcp", "config": {"cmd-path": str(plugin)}}
    content = {**config(), "users": [{"name": "u", "user": {"auth-provider": provider}}]}
    source = source_of(from_kubeconfig(written(tmp_path, content)))

    assert (source.is_followed, source.is_quick) == (True, False)
    assert [source.ask().header for _ in range(2)] == ["Bearer x", "Bearer xx"]
