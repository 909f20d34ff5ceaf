# SPDX-License-Identifier: Apache-2.0
"""The parts of nodes and pods that taint eviction reads; nothing else of them is decoded."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from controllers.taint_eviction.toleration import NO_EXECUTE, Taint, Toleration


class _TaintedNodeSpec(msgspec.Struct, gc=False):
    taints: list[Taint] | None = None


class TaintedNodeView(msgspec.Struct, gc=False):
    """The NoExecute taints of a node."""

    spec: _TaintedNodeSpec = msgspec.field(default_factory=_TaintedNodeSpec)

    @property
    def expelling(self) -> list[Taint]:
        """The taints that evict pods."""
        return [taint for taint in self.spec.taints or () if taint.effect == NO_EXECUTE]


# A part of `ObjectMeta`: decoding all of it would take a sixth longer, and each look at a pod decodes it again.
class _TaintedPodMetadata(msgspec.Struct, gc=False, rename="camel"):
    name: str
    namespace: str
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None


class _TaintedPodSpec(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""
    tolerations: list[Toleration] | None = None


class WrittenCondition(msgspec.Struct, gc=False):
    """The fields of a pod's condition that this controller writes; they are compared with those of `EVICTED`."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class _TaintedPodStatus(msgspec.Struct, gc=False):
    conditions: list[WrittenCondition] | None = None


class ToleratingPodView(msgspec.Struct, gc=False):
    """The fields of a pod that decide whether and when it must leave."""

    metadata: _TaintedPodMetadata
    spec: _TaintedPodSpec = msgspec.field(default_factory=_TaintedPodSpec)
    status: _TaintedPodStatus = msgspec.field(default_factory=_TaintedPodStatus)

    @property
    def tolerations(self) -> Sequence[Toleration]:
        """The tolerations of the pod."""
        return self.spec.tolerations or ()

    @property
    def stays(self) -> bool:
        """Whether the pod is bound to a node and is not being deleted."""
        return bool(self.spec.node_name) and self.metadata.deletion_timestamp is None
