# SPDX-License-Identifier: Apache-2.0
"""xlab-uiuc/acto#282 (cloudnative-pg/cloudnative-pg): a pod that cannot be scheduled is never replaced by one that can.

A rollout replaces one pod after another and waits until each is ready. So a declared zone without nodes leads to a pod
that never becomes ready, and the operator waits for it even after a better zone was declared.
"""

from __future__ import annotations

from typing import Any, Literal

import attrs
from kit.perturbation.declaring import NAME, Bug, Operator, owned

from controller_runtime import Client, Controller, Lister, Manager, Reconciler, Request, Result
from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import PODS


class Spec(Struct):
    zone: Literal["north", "south", "nowhere"]


@custom_resource("postgres.example.com/v1")
class Cluster(CustomResource):
    spec: Spec


class Mended(Operator):
    declared = Cluster
    kinds = (PODS,)

    def bring(self, obj: Cluster, spec: Spec) -> None:
        have = self.see(PODS)
        if have is None:
            pod = {"nodeSelector": {"zone": spec.zone}, "containers": [{"name": "db", "image": "example.com/db"}]}
            self.client.create(PODS, owned(obj, {"spec": pod}))
        elif have["spec"]["nodeSelector"] != {"zone": spec.zone} and self.may_replace(have):
            self.drop(PODS, NAME)

    def may_replace(self, pod: dict[str, Any]) -> bool:
        return True


class Buggy(Mended):
    def may_replace(self, pod: dict[str, Any]) -> bool:
        return bool(pod.get("status", {}).get("phase") == "Running")


@attrs.frozen
class Kubelet(Reconciler):
    """Runs the pods of all zones that have nodes."""

    pods: Lister[dict[str, Any]]
    client: Client

    def reconcile(self, request: Request) -> Result:
        pod = self.pods.get(request)
        if pod and pod["spec"]["nodeSelector"]["zone"] != "nowhere" and pod["status"].get("phase") != "Running":
            self.client.patch(PODS, request, {"status": {"phase": "Running"}}, subresource="status")
        return Result()


def kubelet(manager: Manager) -> None:
    manager.add(Controller("kubelet", Kubelet(manager.lister(PODS, dict), manager.client)).watch(PODS))


BUG = Bug("xlab-uiuc/acto#282", "pods default/db spec.nodeSelector.zone", Buggy, Mended, Spec("north"), kubelet)
