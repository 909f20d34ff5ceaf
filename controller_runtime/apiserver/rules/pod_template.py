# SPDX-License-Identifier: Apache-2.0
"""Defaults and rules of a pod's spec, wherever it occurs: in a pod, a deployment, a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller_runtime.api.names import label_problems
from controller_runtime.apiserver.rules.pod_defaults import container_defaults, volume_defaults
from controller_runtime.apiserver.rules.rules import Object
from controller_runtime.apiserver.rules.validation import duplicate, invalid, required
from controller_runtime.apiserver.status import Cause

DEFAULT_GRACE = 30  # seconds
CONTAINERS = ("initContainers", "containers")
_SPEC_DEFAULTS: Mapping[str, Any] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": DEFAULT_GRACE,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_CONTAINER_DEFAULTS = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}


def with_defaults(spec: Object) -> dict[str, Any]:
    """Return a pod's spec with its defaults."""
    defaulted = {"securityContext": {}, **_SPEC_DEFAULTS, **spec}
    for name in CONTAINERS:
        if name in spec:
            defaulted[name] = [container_defaults(_container(container)) for container in spec[name]]
    if "volumes" in spec:
        defaulted["volumes"] = [volume_defaults(volume) for volume in spec["volumes"]]
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        defaulted |= {"serviceAccountName": account, "serviceAccount": account}  # the deprecated name is set, too
    return defaulted


def _container(container: Object) -> Object:
    defaults = {**_CONTAINER_DEFAULTS, "imagePullPolicy": _pull_policy(container.get("image", ""))}
    missing = {name: value for name, value in defaults.items() if name not in container}
    return {**container, **missing} if missing else container


def _pull_policy(image: str) -> str:
    """Return the default pull policy of an image.

    It is `Always` if the image has no digest and its tag is `latest` or missing, and `IfNotPresent` otherwise.
    """
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if not digest and tag in ("", "latest") else "IfNotPresent"


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
