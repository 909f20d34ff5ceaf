# SPDX-License-Identifier: Apache-2.0
"""A kopf operator on the embedded server: it discovers, lists, watches, patches and is seen to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import kubernetes
import pytest

pytest.importorskip("kopf", reason="kopf is not installed: tox -e peers")

OPERATOR = """
import kopf

@kopf.on.create("configmaps", labels={"for": "kopf"})
def created(body, patch, **_):
    patch.setdefault("data", {})["seen"] = body["data"]["a"]
"""


def test_an_operator_answers_a_new_config_map(kubeconfig: Path, tmp_path: Path) -> None:
    (tmp_path / "operator.py").write_text(OPERATOR)
    client = kubernetes.config.new_client_from_config(str(kubeconfig))
    api = kubernetes.client.CoreV1Api(client)
    body = {"metadata": {"name": "kopf", "labels": {"for": "kopf"}}, "data": {"a": "1"}}
    arguments = [sys.executable, "-m", "kopf", "run", "-n", "default", "--standalone", str(tmp_path / "operator.py")]
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}

    with subprocess.Popen(arguments, env=environment, stderr=subprocess.DEVNULL) as operator:
        made = api.create_namespaced_config_map("default", body)
        watch = kubernetes.watch.Watch()
        version = made.metadata.resource_version
        for event in watch.stream(api.list_namespaced_config_map, "default", resource_version=version):
            if "seen" in (event["object"].data or {}):
                watch.stop()
        operator.terminate()

    assert api.read_namespaced_config_map("kopf", "default").data["seen"] == "1"
    client.close()
