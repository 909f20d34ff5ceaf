# SPDX-License-Identifier: Apache-2.0
"""Flow schemas and priority levels."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.flowcontrol import columns, flow_control
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import ALL, Policy, changed

_flow = partial(
    Kind,
    group="flowcontrol.apiserver.k8s.io",
    version="v1",
    namespaced=False,
    subresources=("status",),
    policy=Policy(status={}, generation=changed("spec"), freezes=ALL),
    metadata="w",
    status_metadata="",
)
FLOW_SCHEMA = _flow(
    kind="FlowSchema",
    plural="flowschemas",
    checks=Checks(flow_control.flow_schema, status=flow_control.flow_status),
    cells=columns.SCHEMAS,
    row_order=columns.by_precedence,
)
PRIORITY_LEVEL = _flow(
    kind="PriorityLevelConfiguration",
    plural="prioritylevelconfigurations",
    checks=Checks(flow_control.priority_level, status=flow_control.flow_status),
    cells=columns.LEVELS,
)
KINDS = (FLOW_SCHEMA, PRIORITY_LEVEL)
