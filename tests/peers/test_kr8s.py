# SPDX-License-Identifier: Apache-2.0
"""kr8s against the embedded server; in a process of its own, for it keeps threads and loops."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("kr8s", reason="kr8s is not installed: tox -e peers")

PROGRAM = """
import sys
import kr8s
from kr8s.objects import ConfigMap

api = kr8s.api(kubeconfig=sys.argv[1])
created = ConfigMap({"metadata": {"name": "kr8s", "namespace": "default"}, "data": {"a": "1"}}, api=api)
created.create()
read = ConfigMap.get("kr8s", namespace="default", api=api)
assert read.metadata.uid == created.metadata.uid
assert "kr8s" in [one.name for one in api.get("configmaps", namespace="default")]
read.patch({"data": {"a": "2"}})
for kind, one in api.watch("configmaps", namespace="default"):
    if one.name == "kr8s":
        assert (kind, one.raw["data"]["a"]) == ("ADDED", "2"), kind
        break
read.delete()
assert not read.exists()
print("done")
"""


def test_a_round_trip_of_a_config_map(kubeconfig: Path) -> None:
    outcome = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(kubeconfig)], capture_output=True, text=True, check=False
    )

    assert outcome.stdout.strip() == "done", outcome.stderr
