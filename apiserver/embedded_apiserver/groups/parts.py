# SPDX-License-Identifier: Apache-2.0
"""The subresources: which verbs each has, and the kind that is sent there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from embedded_apiserver.groups.pods.kinds import BINDING
from embedded_apiserver.kinds.cells import NAMED, at
from embedded_apiserver.kinds.kind import Kind

SCALE = Kind(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    verbs=("get", "patch", "update"),
    cells={**NAMED, "Desired": at("spec.replicas", 0), "Available": at("status.replicas", 0)},
)
TOKEN_REQUEST = Kind(
    group="authentication.k8s.io", version="v1", kind="TokenRequest", plural="tokenrequests", verbs=("create",)
)
EVICTION = Kind(group="policy", version="v1", kind="Eviction", plural="evictions", verbs=("create",))

Parameters = Mapping[str, str]
"""The types of query parameters in OpenAPI, by name."""

_STREAMS = dict.fromkeys(("stderr", "stdin", "stdout", "tty"), "boolean")


class Part(NamedTuple):
    """A subresource: its verbs, and the kind of its bodies.

    Attributes:
        verbs: The supported verbs, in the order of discovery.
        kind: The kind of the request and response bodies; None if it is that of the object.
        options: For a subresource whose requests are forwarded to a node, pod or service: the suffix of the kind of its
            options, such as `ExecOptions` in `PodExecOptions`; otherwise empty.
        query: The query parameters of such a subresource, and of `log`.
    """

    verbs: tuple[str, ...]
    kind: Kind | None = None
    options: str = ""
    query: Parameters = MappingProxyType({})

    def response_kind(self, kind: Kind) -> Kind:
        """Return the kind that discovery lists for this subresource of `kind`, such as `Scale`."""
        if self.options:
            return Kind(group="", version="v1", kind=f"{kind.kind}{self.options}", plural="")
        return self.kind or kind


_READ_AND_WRITTEN = Part(("get", "patch", "update"))
PARTS: Mapping[str, Part] = {
    "approval": _READ_AND_WRITTEN,
    "attach": Part(("create", "get"), None, "AttachOptions", {"container": "string", **_STREAMS}),
    "binding": Part(("create",), BINDING),
    "ephemeralcontainers": _READ_AND_WRITTEN,
    "eviction": Part(("create",), EVICTION),
    "exec": Part(("create", "get"), None, "ExecOptions", {"command": "string", "container": "string", **_STREAMS}),
    "finalize": Part(("update",)),
    "log": Part(
        ("get",),
        query={
            **dict.fromkeys(("container", "stream"), "string"),
            **dict.fromkeys(("follow", "insecureSkipTLSVerifyBackend", "previous", "timestamps"), "boolean"),
            **dict.fromkeys(("limitBytes", "sinceSeconds", "tailLines"), "integer"),
        },
    ),
    "portforward": Part(("create", "get"), None, "PortForwardOptions", {"ports": "integer"}),
    "proxy": Part(("create", "delete", "get", "patch", "update"), None, "ProxyOptions", {"path": "string"}),
    "resize": _READ_AND_WRITTEN,
    "scale": Part(SCALE.verbs, SCALE),
    "token": Part(("create",), TOKEN_REQUEST),
    "status": _READ_AND_WRITTEN,
}
