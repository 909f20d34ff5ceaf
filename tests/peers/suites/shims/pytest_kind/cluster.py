# SPDX-License-Identifier: Apache-2.0
"""The cluster of `KUBECONFIG`, with the methods of pytest-kind's class that kr8s calls."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


class KindCluster:
    """A cluster that runs already and goes on afterwards."""

    def __init__(self, name: str = "", image: str | None = None) -> None:
        self.name = name
        self.kubeconfig_path = Path(os.environ["KUBECONFIG"])
        self.kubectl_path = shutil.which("kubectl")

    def create(self) -> None:
        """Do nothing."""

    def delete(self) -> None:
        """Do nothing."""

    def kubectl(self, *arguments: str) -> str:
        """Return what kubectl prints."""
        return subprocess.check_output(["kubectl", *arguments], text=True)
