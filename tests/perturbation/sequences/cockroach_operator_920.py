# SPDX-License-Identifier: Apache-2.0
"""cockroachdb/cockroach-operator#920: host and secret of an ingress stay as they were at its creation.

The ingress is written once. Of a later spec only the path's port is looked at.
"""

from __future__ import annotations

from typing import Annotated, Any

from kit.perturbation.declaring import Bug, Operator, owned
from msgspec import Meta

from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import INGRESSES

Label = Annotated[str, Meta(pattern="^[a-z]{1,20}$")]


class Spec(Struct):
    host: Label
    secret_name: Label | None = None
    port: Annotated[int, Meta(ge=8000, le=8999)] = 8080


@custom_resource("cockroach.example.com/v1")
class Cluster(CustomResource):
    spec: Spec


class Mended(Operator):
    declared = Cluster
    kinds = (INGRESSES,)

    def bring(self, obj: Cluster, spec: Spec) -> None:
        self.apply(INGRESSES, self.wanted(obj, spec))

    def wanted(self, obj: Cluster, spec: Spec) -> dict[str, Any]:
        backend = {"service": {"name": "ui", "port": {"number": spec.port}}}
        rule = {"host": spec.host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
        tls = [{"hosts": [spec.host], "secretName": spec.secret_name}] if spec.secret_name else []
        return owned(obj, {"spec": {"rules": [rule], **({"tls": tls} if tls else {})}})


class Buggy(Mended):
    def bring(self, obj: Cluster, spec: Spec) -> None:
        have = self.see(INGRESSES)
        if have is None:
            self.client.create(INGRESSES, self.wanted(obj, spec))
            return
        rule = have["spec"]["rules"][0]
        http = self.wanted(obj, spec)["spec"]["rules"][0]["http"]
        self.update(INGRESSES, have, spec={**have["spec"], "rules": [{**rule, "http": http}]})


BUG = Bug(
    "cockroachdb/cockroach-operator#920",
    "ingresses.networking.k8s.io default/db spec.rules.0.host",
    Buggy,
    Mended,
    Spec("db"),
)
