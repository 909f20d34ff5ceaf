# SPDX-License-Identifier: Apache-2.0
"""A hundred kubeconfigs are understood as the official client's loader understands them.

That loader is compared with because most Python programs use it. Where kubectl differs from it, we do as kubectl does;
the tests at the end say so.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml
from kit.official import RELEASE, since
from kubernetes.client import Configuration
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from apimachinery.errors import UsageError
from apimachinery.system import SystemHost
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.endpoint import endpoint_of
from controller_runtime.client.http.rest_config import RESTConfig
from embedded_apiserver.shell.tls import make_certificates

CERTIFICATES = make_certificates(SystemHost().now())
PEMS = {"ca": CERTIFICATES.authority, "crt": CERTIFICATES.server, "key": CERTIFICATES.key}
DATA = {name: base64.b64encode(pem).decode() for name, pem in PEMS.items()}
ANSWER = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}

SERVERS: dict[str, dict[str, Any]] = {
    "address": {"server": "https://10.0.0.1:6443"},
    "name and path": {"server": "https://api.test/k8s/clusters/a/"},
    "plain": {"server": "http://127.0.0.1:8080"},
    "v6": {"server": "https://[fd00::1]:6443", "tls-server-name": "api.test"},
    "own proxy": {"server": "https://api.test", "proxy-url": "http://me:pw@own.test:3128"},
}
AUTHORITIES: dict[str, dict[str, Any]] = {
    "system": {},
    "file": {"certificate-authority": "pki/ca"},
    "data": {"certificate-authority-data": DATA["ca"]},
    "data before file": {"certificate-authority-data": DATA["ca"], "certificate-authority": "nowhere"},
    "nobody": {"insecure-skip-tls-verify": True},
}
USERS: dict[str, dict[str, Any] | None] = {
    "anonymous": None,
    "empty": {},
    "token": {"token": "s3cret"},
    "token file": {"tokenFile": "pki/token"},
    "password": {"username": "me", "password": "p:w"},
    "certificate files": {"client-certificate": "pki/crt", "client-key": "pki/key"},
    "certificate data": {"client-certificate-data": DATA["crt"], "client-key-data": DATA["key"]},
    "token and certificate": {"token": "s3cret", "client-certificate": "pki/crt", "client-key": "pki/key"},
    "plugin": {"exec": {"apiVersion": ANSWER["apiVersion"], "command": "./plugin", "args": ["a b", "c"]}},
}
ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {"HTTPS_PROXY": "http://proxy.test:3128"},
    {"HTTPS_PROXY": "http://proxy.test:3128", "https_proxy": "http://lower.test:3128"},
    {"ALL_PROXY": "http://all.test:3128", "NO_PROXY": "10.0.0.0/8, .test"},
    {"HTTP_PROXY": "http://plain.test:3128", "HTTPS_PROXY": "http://proxy.test:3128", "no_proxy": "127.0.0.1"},
    {"HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "fd00::/8,api.test:443"},
    {"HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "*"},
]
CASES = [*itertools.product(SERVERS, AUTHORITIES, USERS)][::2]


@attrs.frozen
class Understood:
    """A kubeconfig as a loader understands it, with the content of its files."""

    host: str
    verified: bool
    server_name: str | None
    proxy: object
    authority: bytes | None
    certificate: bytes | None
    key: bytes | None
    header: str | None


def content_of(file: object, data: str | None) -> bytes | None:
    return data.encode() if data else Path(str(file)).read_bytes() if file else None


def understood(
    configuration: Configuration | RESTConfig, header: str | None, pair: tuple[str, str] | None
) -> Understood:
    certificate, key = pair or (None, None)
    return Understood(
        host=configuration.host,
        verified=bool(configuration.verify_ssl),
        server_name=configuration.tls_server_name,
        proxy=endpoint_of(configuration, "us").proxy if RELEASE >= 37 else "older releases read no proxy-url",
        authority=content_of(configuration.ssl_ca_cert, getattr(configuration, "ca_cert_data", None)),
        certificate=content_of(configuration.cert_file, certificate),
        key=content_of(configuration.key_file, key),
        header=header,
    )


def by_us(name: str) -> Understood:
    configuration = from_kubeconfig(name)
    return understood(configuration, configuration.source.ask().header, configuration.client_certificate)


def by_the_official_loader(name: str) -> Understood:
    configuration = Configuration()
    loader = KubeConfigLoader(KubeConfigMerger(name).config, config_base_path=None)
    loader.load_and_set(configuration)
    if "proxy" in vars(loader):  # NO_PROXY is of the environment, the proxy is not
        configuration.no_proxy = None
    header = configuration.api_key.get("BearerToken") or configuration.api_key.get("authorization")
    return understood(configuration, header, None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with the files that kubeconfigs name; the environment has no proxies."""
    for variable in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(variable)
    (tmp_path / "pki").mkdir()
    for name, pem in {**PEMS, "token": b"from a file"}.items():
        (tmp_path / "pki" / name).write_bytes(pem)
    answer = json.dumps({**ANSWER, "status": {"token": "of $#: $1"}}).replace('"', '\\"')
    (tmp_path / "plugin").write_text(f'#!/bin/sh\necho "{answer}"\n')
    (tmp_path / "plugin").chmod(0o755)
    return tmp_path


def kubeconfig(
    cluster: dict[str, Any], user: dict[str, Any] | None, *, name: str = "c", current: str | None = "c"
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [] if user is None else [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, **({} if user is None else {"user": name})}}],
        **({"current-context": current} if current else {}),
    }


def test_there_are_a_hundred() -> None:
    assert len(CASES) > 100


@pytest.mark.parametrize(("server", "authority", "user"), CASES)
def test_a_kubeconfig_means_the_same_to_us(
    server: str, authority: str, user: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "config"
    path.write_text(yaml.safe_dump(kubeconfig({**SERVERS[server], **AUTHORITIES[authority]}, USERS[user])))
    index = CASES.index((server, authority, user))
    for name, value in ENVIRONMENTS[index % len(ENVIRONMENTS)].items():
        monkeypatch.setenv(name, value)

    assert by_us(str(path)) == by_the_official_loader(str(path))


@since(30, "a current context that is not that of the first file")
def test_merged_files_mean_the_same_to_us(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "ca").write_bytes(PEMS["ca"])
    first = kubeconfig({"server": "https://one.test"}, None, name="one", current=None)
    second = kubeconfig({"server": "https://two.test", "certificate-authority": "ca"}, {"token": "t"}, current="c")
    hidden = kubeconfig({"server": "https://hidden.test"}, {"token": "hidden"}, current=None)
    paths = [folder / "first", folder / "missing", folder / "other" / "second", folder / "third"]
    for path, content in ((paths[0], first), (paths[2], second), (paths[3], hidden)):
        path.write_text(yaml.safe_dump(content))
    name = os.pathsep.join(map(str, paths))

    ours = by_us(name)

    assert ours == by_the_official_loader(name)
    assert (ours.host, ours.header, ours.authority) == ("https://two.test", "Bearer t", PEMS["ca"])


def test_the_current_context_is_that_of_the_first_file_that_has_one(folder: Path) -> None:
    """So does kubectl; the official loader takes the last."""
    paths = [folder / "a", folder / "b"]
    for path in paths:
        content = kubeconfig({"server": f"https://{path.name}.test"}, None, name=path.name, current=path.name)
        path.write_text(yaml.safe_dump(content))

    assert by_us(os.pathsep.join(map(str, paths))).host == "https://a.test"


def test_the_files_of_a_user_are_beside_the_kubeconfig_that_has_the_user(folder: Path) -> None:
    """So it is for kubectl; the official loader looks beside the kubeconfig that has the cluster."""
    (folder / "elsewhere").mkdir()
    cluster = kubeconfig({"server": "https://api.test"}, None)
    cluster["contexts"][0]["context"]["user"] = "u"
    user = {"client-certificate": "pki/crt", "client-key": "pki/key"}
    (folder / "elsewhere" / "a").write_text(yaml.safe_dump(cluster))
    (folder / "b").write_text(yaml.safe_dump({"users": [{"name": "u", "user": user}]}))

    ours = by_us(os.pathsep.join(map(str, (folder / "elsewhere" / "a", folder / "b"))))

    assert (ours.certificate, ours.key) == (PEMS["crt"], PEMS["key"])


@pytest.mark.parametrize("authority", [{"certificate-authority": "pki/ca"}, {"certificate-authority-data": DATA["ca"]}])
def test_an_authority_that_would_not_be_used_is_refused(folder: Path, authority: dict[str, str]) -> None:
    cluster = {"server": "https://api.test", "insecure-skip-tls-verify": True, **authority}
    content = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "x", "context": {"cluster": "c"}}],
    }
    (folder / "config").write_text(json.dumps({**content, "current-context": "x"}))

    with pytest.raises(UsageError, match="root certificates file with the insecure flag is not allowed"):
        from_kubeconfig(str(folder / "config"))


def test_a_token_file_wins_over_a_token(folder: Path) -> None:
    """So it does for kubectl; the official loader would use the token, which nobody rotates."""
    content = kubeconfig({"server": "https://api.test"}, {"token": "old", "tokenFile": "pki/token"})
    (folder / "config").write_text(yaml.safe_dump(content))

    assert by_us(str(folder / "config")).header == "Bearer from a file"


def test_an_empty_proxy_url_leaves_that_of_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it does for kubectl; the official loader would use no proxy."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
    (folder / "config").write_text(yaml.safe_dump(kubeconfig({"server": "https://api.test", "proxy-url": ""}, None)))

    assert from_kubeconfig(folder / "config").proxy == "http://proxy.test:3128"


def test_a_password_is_sent_in_utf_8(folder: Path) -> None:
    """So does Go; the official loader would send Latin-1."""
    content = kubeconfig({"server": "https://api.test"}, {"username": "me", "password": "ä"})
    (folder / "config").write_text(yaml.safe_dump(content))

    assert by_us(str(folder / "config")).header == "Basic " + base64.b64encode("me:ä".encode()).decode()
