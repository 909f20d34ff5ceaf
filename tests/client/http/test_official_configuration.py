# SPDX-License-Identifier: Apache-2.0
"""The official client, in whichever release is installed, reaches the server of our configuration with our token."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import yaml
from kit.official import configured
from kubernetes.client import ApiClient, CoreV1Api

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from apimachinery.system import SystemHost
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.rest_config import source_of
from embedded_apiserver.shell.thread import LoopbackServer
from embedded_apiserver.shell.tls import make_certificates

HOST = SystemHost()
NAMESPACES = {"apiVersion": "v1", "kind": "NamespaceList", "metadata": {}, "items": [{"metadata": {"name": "n"}}]}


class Listing:
    """Answers with a list of namespaces, and keeps the tokens that it gets."""

    def __init__(self) -> None:
        self.headers: list[str | None] = []

    def handle(self, request: HTTPRequest, on_ready: object = None) -> HTTPResponse | Watch:
        self.headers.append(request.headers.get("authorization"))
        return HTTPResponse(200, {"content-type": "application/json"}, json.dumps(NAMESPACES).encode())


def kubeconfig(folder: Path, server: str, authority: bytes, user: dict[str, str] | None) -> Path:
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(authority).decode()}
    context = {"cluster": "c", **({} if user is None else {"user": "u"})}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [] if user is None else [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": context}],
        "current-context": "c",
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(content))
    return path


def names(folder: Path, user: dict[str, str] | None, *changes: str) -> tuple[list[str], list[str | None]]:
    """Return the namespaces that the official client lists, first and after each change, and the tokens it sent."""
    certificates, handler = make_certificates(HOST.now()), Listing()
    found: list[str] = []
    with LoopbackServer(HOST, handler, certificates=certificates) as server:
        official = from_kubeconfig(kubeconfig(folder, server.url, certificates.authority, user)).official()
        with ApiClient(official) as client:
            for change in ("", *changes):
                if change:
                    (folder / "token").write_text(change)
                found += [each.metadata.name for each in CoreV1Api(client).list_namespace().items]
    return found, handler.headers


def test_it_trusts_an_authority_within_the_kubeconfig_and_sends_the_present_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")

    assert names(tmp_path, {"tokenFile": "token"}, "two") == (["n", "n"], ["Bearer one", "Bearer two"])


def test_it_sends_no_token_where_the_kubeconfig_has_none(tmp_path: Path) -> None:
    assert names(tmp_path, None) == (["n"], [None])


def test_our_transport_sends_the_token_of_an_official_configuration_under_the_name_of_any_release() -> None:
    for name in ("BearerToken", "authorization"):
        official = configured("https://127.0.0.1:1", api_key={name: "s3cret"}, api_key_prefix={name: "Bearer"})

        assert source_of(official).ask().header == "Bearer s3cret"
