# SPDX-License-Identifier: Apache-2.0
"""Rules of a pod's spec, wherever it occurs: in a pod, a deployment, a job."""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.api.names import label_problems
from controller_runtime.apiserver.rules.pod_defaults import CONTAINERS
from controller_runtime.apiserver.rules.rules import Object
from controller_runtime.apiserver.rules.validation import duplicate, invalid, required
from controller_runtime.apiserver.status import Cause

DEFAULT_GRACE = 30  # seconds


def container_causes(spec: Object, place: str) -> Iterator[Cause]:
    """Return the faults of the containers of a pod's spec, which needs one at least; `place` is its path."""
    if not spec.get("containers"):
        yield required(f"{place}.containers")
        return
    seen: set[str] = set()
    for group in CONTAINERS:
        for index, container in enumerate(spec.get(group, ())):
            field, name = f"{place}.{group}[{index}]", container["name"]
            if not name:
                yield required(f"{field}.name")
            elif name in seen:
                yield duplicate(f"{field}.name", name)
            else:
                for text in label_problems(name):
                    yield invalid(f"{field}.name", name, text)
            if not container.get("image"):
                yield required(f"{field}.image")
            seen.add(name)
