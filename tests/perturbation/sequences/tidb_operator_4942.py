# SPDX-License-Identifier: Apache-2.0
"""pingcap/tidb-operator#4942: labels and annotations of the discovery component cannot be removed.

Before an update the wanted object is filled up from the present one, wherever it says nothing. This keeps defaults of
the server, and all that was wanted once.
"""

from __future__ import annotations

from typing import Any

from kit.perturbation.declaring import Bug, Operator, workload

from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import DEPLOYMENTS


class Discovery(Struct, frozen=True):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Spec(Struct):
    discovery: Discovery = Discovery()


@custom_resource("pingcap.example.com/v1")
class TidbCluster(CustomResource):
    spec: Spec


class Mended(Operator):
    declared = TidbCluster
    kinds = (DEPLOYMENTS,)

    def bring(self, obj: TidbCluster, spec: Spec) -> None:
        self.apply(DEPLOYMENTS, self.wanted(obj, spec))

    def wanted(self, obj: TidbCluster, spec: Spec) -> dict[str, Any]:
        body = workload(obj)
        labels, annotations = spec.discovery.labels, spec.discovery.annotations
        return {**body, "metadata": {**body["metadata"], "labels": labels, "annotations": annotations}}


class Buggy(Mended):
    def bring(self, obj: TidbCluster, spec: Spec) -> None:
        wanted, have = self.wanted(obj, spec), self.see(DEPLOYMENTS)
        if have is None:
            self.client.create(DEPLOYMENTS, wanted)
        elif (filled := _filled(wanted, have)) != have:
            self.client.update(DEPLOYMENTS, filled)


def _filled(wanted: Any, have: Any) -> Any:
    if isinstance(wanted, dict) and isinstance(have, dict):
        return {**have, **{name: _filled(part, have.get(name)) for name, part in wanted.items()}}
    if isinstance(wanted, list) and isinstance(have, list) and len(wanted) == len(have):
        return [_filled(*both) for both in zip(wanted, have, strict=True)]
    return wanted


BUG = Bug("pingcap/tidb-operator#4942", "deployments.apps default/db metadata.labels: absent", Buggy, Mended, Spec())
