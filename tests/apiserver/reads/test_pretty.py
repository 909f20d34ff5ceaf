# SPDX-License-Identifier: Apache-2.0
"""JSON with line breaks, which a real server gives to browsers, to curl and to those that ask for it."""

from __future__ import annotations

import json

import pytest
from kit.apiserver.asking import Asking

OBJECT = "/api/v1/namespaces/default"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def is_indented(ask: Asking, path: str, headers: dict[str, str], **query: str) -> bool:
    """Return whether a body is as Go indents it, without a newline at its end; otherwise it is one line with one."""
    body = ask.response("GET", path, headers=headers, **query).body
    if body == json.dumps(json.loads(body), indent=2, ensure_ascii=False).encode():
        return True
    assert body.count(b"\n") == (not path.startswith("/openapi/"))
    return False


@pytest.mark.parametrize(
    ("path", "headers", "query", "indented"),
    [
        (OBJECT, {}, {}, False),
        (OBJECT, {"user-agent": "python"}, {}, False),
        (OBJECT, {"user-agent": "curl/8.5.0"}, {}, True),
        (OBJECT, {"user-agent": "Wget/1.21"}, {}, True),
        (OBJECT, {"user-agent": "Mozilla/5.0 (X11)"}, {}, True),
        (OBJECT, {"user-agent": "Mozilla/4.0"}, {}, False),
        (OBJECT, {}, {"pretty": "true"}, True),
        (OBJECT, {}, {"pretty": "T"}, True),
        (OBJECT, {"user-agent": "curl/8.5.0"}, {"pretty": ""}, True),
        (OBJECT, {"user-agent": "curl/8.5.0"}, {"pretty": "false"}, False),
        (OBJECT, {"user-agent": "curl/8.5.0"}, {"pretty": "yes"}, False),
        (OBJECT, {"accept": "application/json;pretty=1"}, {}, True),
        (OBJECT, {"accept": "application/json;pretty=0"}, {}, False),
        (OBJECT, {"accept": TABLE, "user-agent": "curl/8.5.0"}, {}, True),
        ("/api/v1/namespaces/none", {"user-agent": "curl/8.5.0"}, {}, True),
        ("/api/v1/pods", {"user-agent": "curl/8.5.0"}, {}, True),
        ("/apis", {"accept": AGGREGATED, "user-agent": "curl/8.5.0"}, {}, True),
        ("/version", {}, {}, True),
        ("/openapi/v3", {"user-agent": "curl/8.5.0"}, {"pretty": "true"}, False),
    ],
)
def test_json_is_indented_for_people(
    ask: Asking, path: str, headers: dict[str, str], query: dict[str, str], *, indented: bool
) -> None:
    assert is_indented(ask, path, headers, **query) is indented


def test_yaml_and_text_stay_as_they_are(ask: Asking) -> None:
    curl = {"user-agent": "curl/8.5.0"}
    assert ask.response("GET", OBJECT, headers={**curl, "accept": "application/yaml"}).body.startswith(
        b"apiVersion: v1\n"
    )
    assert ask.response("GET", "/healthz", headers=curl).body == b"ok"
