# SPDX-License-Identifier: Apache-2.0
"""A client of a server whose pod has a program."""

from __future__ import annotations

import attrs

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.client.client import Client
from embedded_apiserver.programs import Programs
from kit.apiserver.asking import pod
from kit.apiserver.talking import RUNNING

PODS: Resource[dict[str, object]] = Resource("", "v1", "Pod", "pods")
KEY = ObjectKey("p", "default")


@attrs.frozen
class Entered:
    """A client, another one without faults, and the programs of their server."""

    client: Client
    user: Client
    programs: Programs

    def begin(self) -> None:
        """Create a pod that runs."""
        self.user.create(PODS, {**pod("p", nodeName="n"), "apiVersion": "v1", "kind": "Pod"}, "default")
        self.status(RUNNING)

    def status(self, status: dict[str, object]) -> None:
        self.user.patch(PODS, KEY, status, subresource="status")

    def end(self) -> None:
        """Let the pod be gone."""
        self.user.delete(PODS, KEY, grace_period_seconds=0)
