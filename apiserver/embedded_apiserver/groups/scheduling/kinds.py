# SPDX-License-Identifier: Apache-2.0
"""Classes of priority, and of runtimes."""

from __future__ import annotations

from embedded_apiserver.groups.scheduling import classes
from embedded_apiserver.kinds.cells import NAMED, at
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import Policy, never, warned

PRIORITY_CLASS = Kind(
    group="scheduling.k8s.io",
    version="v1",
    kind="PriorityClass",
    plural="priorityclasses",
    namespaced=False,
    short_names=("pc",),
    policy=Policy(generation=never),  # the value of a class never changes
    checks=Checks(classes.priority_class, classes.priority_class_change),
    cells={
        **NAMED,
        "Value": at("value", 0),
        "Global-Default": at("globalDefault", False),
        "PreemptionPolicy": at("preemptionPolicy", ""),
    },
)
RUNTIME_CLASS = Kind(
    group="node.k8s.io",
    version="v1",
    kind="RuntimeClass",
    plural="runtimeclasses",
    namespaced=False,
    create_on_update=True,
    unconditional_update=False,
    policy=Policy(warnings=warned(classes.of_runtime_class)),
    metadata="mg",
    checks=Checks(classes.runtime_class, classes.runtime_class_change),
    cells={**NAMED, "Handler": at("handler", "")},
)
KINDS = (PRIORITY_CLASS, RUNTIME_CLASS)
