# SPDX-License-Identifier: Apache-2.0
"""Runs pytest with the plugin of the embedded server, in processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

ASK = """\
import json, os, ssl, urllib.error, urllib.request, base64, yaml

def asked(path="/api/v1/namespaces/default/configmaps", method="GET", body=None):
    with open(os.environ["KUBECONFIG"]) as file:
        found = yaml.safe_load(file)
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    headers = {"authorization": "Bearer " + user["token"], "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(cluster["server"] + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())

def created(name):
    return asked(method="POST", body={"metadata": {"name": name}})[0]

def names():
    return [each["metadata"]["name"] for each in asked()[1]["items"]]
"""
PLUGIN = ("-p", "embedded_apiserver.pytest_plugin", "-p", "no:cacheprovider")


def run_pytest(
    folder: Path, files: Mapping[str, str], *options: str, env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run pytest on files in a folder, without the plugins that are installed; return its status and its output."""
    with begun(folder, files, *options, env=env) as running:
        output, _ = running.communicate()
    return running.returncode, output


def begun(
    folder: Path, files: Mapping[str, str], *options: str, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start pytest on files in a folder as `run_pytest` does, in a group of processes of its own."""
    for name, text in {"ask.py": ASK, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text))
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(env or {})}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *PLUGIN, "-q", *options],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def passed(output: str) -> int:
    """Return how many tests passed."""
    found = re.search(r"(\d+) passed", output)
    return int(found[1]) if found else 0
