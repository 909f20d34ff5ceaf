# SPDX-License-Identifier: Apache-2.0
"""Where a cluster is and how it is trusted; what is wrong is one line that names the file and the remedy."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml
from kubernetes.client import Configuration

from controller_runtime.apiserver.tls import make_certificates
from controller_runtime.client.configuration import from_kubeconfig, in_cluster, is_in_cluster
from controller_runtime.client.http import HTTPTransport
from controller_runtime.core.errors import ConnectionLost, UsageError
from controller_runtime.core.system import SystemHost

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
    assert configuration.get_api_key_with_prefix("BearerToken", alias="authorization") == "Bearer s3cret"


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
        pytest.param(config(), "y", r"\(context 'y'\): .*name y in", id="missing context"),
        pytest.param({**config(), "clusters": []}, None, "name c in", id="missing cluster"),
        pytest.param(config(**{"certificate-authority": "nowhere.crt"}), None, "nowhere.crt", id="missing CA file"),
        pytest.param(config(**{"certificate-authority-data": "a"}), None, "is not a kubeconfig", id="CA not base64"),
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
    configuration = Configuration(host="https://api.test", proxy="socks5://127.0.0.1:1", no_proxy="")
    configuration.verify_ssl = False

    with pytest.raises(UsageError, match="proxy 'socks5://"):
        HTTPTransport(HOST, configuration)


def test_an_embedded_authority_is_trusted(tmp_path: Path) -> None:
    authority = make_certificates(HOST.now()).authority
    data = base64.b64encode(authority).decode()

    configuration = from_kubeconfig(written(tmp_path, config(**{"certificate-authority-data": data})))

    assert Path(str(configuration.ssl_ca_cert)).read_bytes() == authority
    HTTPTransport(HOST, configuration).close()


def test_credentials_that_cannot_be_had_are_told_when_they_are_needed() -> None:
    configuration = Configuration(host="http://127.0.0.1:1")
    configuration.api_key = {"BearerToken": "x"}

    def fail(_: Configuration) -> None:
        raise RuntimeError("the plugin failed")

    configuration.refresh_api_key_hook = fail
    with pytest.raises(ConnectionLost, match="credentials could not be refreshed: the plugin failed"):
        HTTPTransport(HOST, configuration)
