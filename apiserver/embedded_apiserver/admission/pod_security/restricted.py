# SPDX-License-Identifier: Apache-2.0
"""The checks of the level restricted, but for seccomp profiles."""

from __future__ import annotations

from embedded_apiserver.admission.pod_security.violations import (
    Violation,
    context,
    has_own_users,
    in_quotes,
    named,
    names_of,
    setters,
    used,
)
from embedded_apiserver.groups.pods.all_containers import all_containers, is_windows
from embedded_apiserver.objects import Object, part

_VOLUMES = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"),
    "secret",
)
_OTHER_VOLUMES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd"),
    *("flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk"),
    *("photonPersistentDisk", "portworxVolume", "scaleIO", "storageos"),
)


def privilege_escalation(_: Object, spec: Object) -> Violation | None:
    """Return a violation if a container does not set `allowPrivilegeEscalation` to false."""
    bad = names_of(spec, lambda one: context(one).get("allowPrivilegeEscalation") is not False)
    must = "must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", f"{named('container', bad)} {must}") if bad else None


def privilege_escalation_linux(metadata: Object, spec: Object) -> Violation | None:
    """Return the violation found by `privilege_escalation`; None for a Windows pod, which lacks that field."""
    return None if is_windows(spec) else privilege_escalation(metadata, spec)


def capabilities(_: Object, spec: Object) -> Violation | None:
    """Return a violation if a container does not drop `ALL` capabilities, or adds one other than `NET_BIND_SERVICE`."""
    details = []
    if keeping := names_of(spec, lambda one: "ALL" not in _capabilities(one, "drop")):
        details.append(f'{named("container", keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding := names_of(spec, lambda one: bool(_added(one))):
        values = in_quotes(sorted({value for one in all_containers(spec) for value in _added(one)}))
        must = f"must not include {values} in securityContext.capabilities.add"
        details.append(f"{named('container', adding)} {must}")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def capabilities_linux(metadata: Object, spec: Object) -> Violation | None:
    """Return the violation found by `capabilities`; None for a Windows pod, which has no capabilities."""
    return None if is_windows(spec) else capabilities(metadata, spec)


def _capabilities(container: Object, which: str) -> list[str]:
    return part(context(container), "capabilities").get(which) or []


def _added(container: Object) -> list[str]:
    return [value for value in _capabilities(container, "add") if value != "NET_BIND_SERVICE"]


def volumes(_: Object, spec: Object) -> Violation | None:
    """Return a violation if a volume has a type that reaches beyond the pod and the API, as `hostPath` and `nfs` do."""
    kinds = [(one.get("name", ""), kind) for one in spec.get("volumes") or () if (kind := _bad_volume(one))]
    if not kinds:
        return None
    bad, types = [name for name, _ in kinds], sorted({kind for _, kind in kinds})
    detail = f"{named('volume', bad)} {used(bad)} {named('restricted volume type', types)}"
    return Violation("restricted volume types", detail)


def _bad_volume(volume: Object) -> str:
    """Return the type of a volume that is refused; empty for any other."""
    if any(volume.get(name) is not None for name in _VOLUMES):
        return ""
    return next((name for name in _OTHER_VOLUMES if volume.get(name) is not None), "unknown")


def non_root(_: Object, spec: Object) -> Violation | None:
    """Return a violation if a container may run as root, by its own security context or that of the pod."""
    reason, field = "runAsNonRoot != true", "securityContext.runAsNonRoot"
    if who := setters(spec, lambda one: one.get("runAsNonRoot") is False):
        return Violation(reason, f"{' and '.join(who)} must not set {field}=false")
    if context(spec).get("runAsNonRoot"):
        return None
    bad = names_of(spec, lambda one: context(one).get("runAsNonRoot") is None)
    return Violation(reason, f"pod or {named('container', bad)} must set {field}=true") if bad else None


def non_root_but_own_users(metadata: Object, spec: Object) -> Violation | None:
    """Return the violation found by `non_root`; None if the pod has its own user namespace.

    The root user of such a pod is not the root user of the node.
    """
    return None if has_own_users(spec) else non_root(metadata, spec)


def user(_: Object, spec: Object) -> Violation | None:
    """Return a violation if the pod or a container sets `runAsUser: 0`, the root user."""
    who = setters(spec, lambda one: one.get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{' and '.join(who)} must not set runAsUser=0") if who else None


def user_but_own_users(metadata: Object, spec: Object) -> Violation | None:
    """Return a violation if the pod or a container sets `runAsUser: 0`, unless the pod has its own user namespace.

    The root user of such a pod is not the root user of the node.
    """
    return None if has_own_users(spec) else user(metadata, spec)
