# SPDX-License-Identifier: Apache-2.0
"""The checks of the level baseline about what a container may do on its node, but for security profiles."""

from __future__ import annotations

from collections.abc import Iterator

from embedded_apiserver.admission.pod_security.violations import (
    CheckPod,
    Violation,
    context,
    has_own_users,
    in_quotes,
    named,
    names_of,
    setters,
    several,
    used,
)
from embedded_apiserver.groups.pods.all_containers import all_containers
from embedded_apiserver.objects import Object, part

_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
_CAPABILITIES = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
    *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
_HANDLERS = ("httpGet", "tcpSocket")


def capabilities(_: Object, spec: Object) -> Violation | None:
    """Return a violation if containers of the pod add capabilities that are not among the default ones."""
    if not (bad := names_of(spec, lambda one: bool(_added(one)))):
        return None
    values = sorted({value for one in all_containers(spec) for value in _added(one)})
    must = f"must not include {in_quotes(values)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", f"{named('container', bad)} {must}")


def _added(container: Object) -> list[str]:
    added = part(context(container), "capabilities").get("add") or ()
    return [value for value in added if value not in _CAPABILITIES]


def host_namespaces(_: Object, spec: Object) -> Violation | None:
    """Return a violation if the pod uses the network, process or IPC namespace of its node."""
    bad = [f"{name}=true" for name in _HOST_NAMESPACES if spec.get(name)]
    return Violation("host namespaces", ", ".join(bad)) if bad else None


def host_path_volumes(_: Object, spec: Object) -> Violation | None:
    """Return a violation if the pod has `hostPath` volumes, which are directories of the node."""
    bad = [volume.get("name", "") for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", named("volume", bad)) if bad else None


def host_ports(_: Object, spec: Object) -> Violation | None:
    """Return a violation if a container has a `hostPort`, which opens a port of the node."""
    if not (bad := names_of(spec, lambda one: bool(_host_ports(one)))):
        return None
    ports = sorted({str(port) for one in all_containers(spec) for port in _host_ports(one)})
    detail = f"{named('container', bad)} {used(bad)} {several('hostPort', ports)} {', '.join(ports)}"
    return Violation("hostPort", detail)


def _host_ports(container: Object) -> list[int]:
    return [port for one in container.get("ports") or () if (port := one.get("hostPort", 0))]


def hosts_of_probes(_: Object, spec: Object) -> Violation | None:
    """Return a violation if a probe or a lifecycle hook names a host; without one, it asks the pod itself."""
    if not (bad := sorted(set(names_of(spec, lambda one: any(_hosts(one)))))):
        return None
    hosts = sorted({host for one in all_containers(spec) for host in _hosts(one)})
    what = "probe or lifecycle host"
    return Violation(what, f"{named('container', bad)} {used(bad)} {named(what, hosts)}")


def _hosts(container: Object) -> Iterator[str]:
    hooks = part(container, "lifecycle")
    for handler in (*(part(container, name) for name in _PROBES), *(part(hooks, name) for name in _HOOKS)):
        for name in _HANDLERS:
            if host := part(handler, name).get("host"):
                yield host


def privileged(_: Object, spec: Object) -> Violation | None:
    """Return a violation if a container is privileged."""
    bad = names_of(spec, lambda one: bool(context(one).get("privileged")))
    return (
        Violation("privileged", f"{named('container', bad)} must not set securityContext.privileged=true")
        if bad
        else None
    )


def proc_mount(_: Object, spec: Object) -> Violation | None:
    """Return a violation if a container has a `procMount` other than `Default`, which exposes hidden parts of
    `/proc`.
    """
    if not (bad := names_of(spec, lambda one: _proc_mount(one) != "Default")):
        return None
    values = sorted({_proc_mount(one) for one in all_containers(spec)} - {"Default"})
    must = f"must not set securityContext.procMount to {in_quotes(values)}"
    return Violation("procMount", f"{named('container', bad)} {must}")


def proc_mount_of_own_users(metadata: Object, spec: Object) -> Violation | None:
    """Return the violation found by `proc_mount`; None if the pod has its own user namespace."""
    return None if has_own_users(spec) else proc_mount(metadata, spec)


def _proc_mount(container: Object) -> str:
    found: str | None = context(container).get("procMount")
    return "Default" if found is None else found


def sysctls(*allowed: str) -> CheckPod:
    """Return a check for kernel parameters (`sysctls`): it finds a violation if the pod sets one that is not in
    `allowed`.
    """

    def check(_: Object, spec: Object) -> Violation | None:
        names = [one.get("name", "") for one in context(spec).get("sysctls") or ()]
        bad = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def windows_host_process(_: Object, spec: Object) -> Violation | None:
    """Return a violation if the pod or a container sets `hostProcess`, to run as a process of its Windows node."""
    if not (who := setters(spec, lambda one: bool(part(one, "windowsOptions").get("hostProcess")))):
        return None
    return Violation("hostProcess", f"{' and '.join(who)} must not set securityContext.windowsOptions.hostProcess=true")
