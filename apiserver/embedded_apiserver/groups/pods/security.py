# SPDX-License-Identifier: Apache-2.0
"""Rules of the security contexts of pods and containers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from apimachinery.names import subdomain_errors
from embedded_apiserver.causes import duplicate, forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import each, identifier, in_range, one_of
from embedded_apiserver.checks.paths import descending
from embedded_apiserver.groups.pods.all_containers import LISTS
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = re.compile(rf"({_SEGMENT}[\./])*{_SEGMENT}")
_SYSCTL_TEXT = rf"must have at most 253 characters and match regex ^({_SEGMENT}[\./])*{_SEGMENT}$"
_IPC = {
    *("kernel/shmall", "kernel/shmmax", "kernel/shmmni", "kernel/shm_rmid_forced"),
    *("kernel/msgmax", "kernel/msgmnb", "kernel/msgmni", "kernel/sem"),
}
_MOST = 2**31 - 1
_WITHOUT_ESCALATION = "cannot set `allowPrivilegeEscalation` to false and"


def of_container(context: Object | None, place: str, *, host_users: bool) -> Iterator[Cause]:
    """Return the validation errors of a container's security context; `host_users` is that of the pod."""
    if not context:
        return
    yield from identifier(context, "runAsUser", place)
    yield from identifier(context, "runAsGroup", place)
    if (mount := context.get("procMount")) is not None:
        yield from one_of(mount, ("Default", "Unmasked"), f"{place}.procMount")
        if host_users and mount == "Unmasked":
            yield invalid(f"{place}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    yield from _seccomp(context.get("seccompProfile"), f"{place}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            text = f"{_WITHOUT_ESCALATION} `privileged` to true"
            yield invalid(place, shown("SecurityContext", context), text)
        for name in (context.get("capabilities") or {}).get("add") or ():
            if name == "CAP_SYS_ADMIN":
                text = f"{_WITHOUT_ESCALATION} `capabilities.Add` CAP_SYS_ADMIN"
                yield invalid(place, shown("SecurityContext", context), text)
    yield from _windows(context.get("windowsOptions"), f"{place}.windowsOptions")
    yield from _app_armor(context.get("appArmorProfile"), f"{place}.appArmorProfile")


def of_pod(spec: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of the security context of a pod; `place` is the path of its spec."""
    context = spec.get("securityContext") or {}
    place = f"{place}.securityContext"
    if spec.get("shareProcessNamespace") and spec.get("hostPID") and not context:
        yield _shared(place)
    if not context:
        return
    yield from identifier(context, "fsGroup", place)
    yield from identifier(context, "runAsUser", place)
    yield from identifier(context, "runAsGroup", place)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        yield from in_range(group, 0, _MOST, f"{place}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        yield _shared(place)
    yield from _sysctls(spec, context, f"{place}.sysctls")
    if (policy := context.get("fsGroupChangePolicy")) is not None:
        yield from one_of(policy, ("Always", "OnRootMismatch"), f"{place}.fsGroupChangePolicy")
    yield from _seccomp(context.get("seccompProfile"), f"{place}.seccompProfile")
    yield from _windows(context.get("windowsOptions"), f"{place}.windowsOptions")
    yield from _app_armor(context.get("appArmorProfile"), f"{place}.appArmorProfile")
    if (policy := context.get("supplementalGroupsPolicy")) is not None:
        yield from one_of(policy, ("Merge", "Strict"), f"{place}.supplementalGroupsPolicy")
    if (policy := context.get("seLinuxChangePolicy")) is not None:
        yield from one_of(policy, ("Recursive",), f"{place}.seLinuxChangePolicy")


def _shared(place: str) -> Cause:
    return invalid(f"{place}.shareProcessNamespace", True, "ShareProcessNamespace and HostPID cannot both be enabled")


def _sysctls(spec: Object, context: Object, place: str) -> Iterator[Cause]:
    seen = set()
    for index, one in enumerate(context.get("sysctls") or ()):
        name, field = one.get("name", ""), f"{place}[{index}].name"
        if not name:
            yield required(field)
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            yield invalid(field, name, _SYSCTL_TEXT)
        elif name in seen:
            yield duplicate(field, name)
        path = name.replace(".", "/")
        if spec.get("hostNetwork") and path.startswith("net/"):
            yield invalid(field, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and (path in _IPC or path.startswith("fs/mqueue/")):
            yield invalid(field, name, "may not be specified when 'hostIPC' is true")
        seen.add(name)


def _seccomp(profile: Object | None, place: str) -> Iterator[Cause]:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield required(f"{place}.type", "type is required when seccompProfile is set")
    elif kind not in _TYPES:
        yield not_supported(f"{place}.type", kind, _TYPES)
    if kind == "Localhost":
        if local is None:
            yield required(f"{place}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            yield from descending(local, f"{place}.localhostProfile")
    elif local is not None:
        text = "can only be set when seccomp type is Localhost"
        yield invalid(f"{place}.localhostProfile", shown("SeccompProfile", profile), text)


def _app_armor(profile: Object | None, place: str) -> Iterator[Cause]:
    if profile is None:
        return
    kind, local, field = profile.get("type", ""), profile.get("localhostProfile"), f"{place}.localhostProfile"
    match kind:
        case "Localhost":
            if local is not None and local.strip() != local:
                yield invalid(field, local, "must not be padded with whitespace")
            elif not local:
                yield required(field, "must be set when AppArmor type is Localhost")
        case "RuntimeDefault" | "Unconfined":
            if local is not None:
                yield invalid(field, local, "can only be set when AppArmor type is Localhost")
        case "":
            yield required(f"{place}.type", "type is required when appArmorProfile is set")
        case _:
            yield not_supported(f"{place}.type", kind, _TYPES)


def _windows(options: Object | None, place: str) -> Iterator[Cause]:
    if options is None:
        return
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        yield from each(subdomain_errors, name, f"{place}.gmsaCredentialSpecName")
    if (content := options.get("gmsaCredentialSpec")) == "":
        yield invalid(f"{place}.gmsaCredentialSpec", content, "gmsaCredentialSpec cannot be an empty string")
    if (user := options.get("runAsUserName")) == "":
        yield invalid(f"{place}.runAsUserName", user, "runAsUserName cannot be an empty string")
    elif user is not None and user.count("\\") > 1:
        yield invalid(f"{place}.runAsUserName", user, "runAsUserName cannot contain more than one backslash")


def host_processes(spec: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of Windows HostProcess containers: either all containers of a pod are, or none.

    Args:
        spec: The spec of the pod.
        place: The path of the spec.
    """
    of_pod, count, processes = _host_process(spec), 0, 0
    for group in LISTS:
        for index, one in enumerate(spec.get(group) or ()):
            own, count = _host_process(one), count + 1
            processes += bool(of_pod if own is None else own)
            if own is not None and of_pod is not None and own is not of_pod:
                field = f"{place}.{group}[{index}].securityContext.windowsOptions.hostProcess"
                text = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
                yield invalid(field, own, text)
    if processes and processes != count:
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid(place, "", text)
    if processes and not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid(f"{place}.hostNetwork", False, text)


def _host_process(owner: Object) -> bool | None:
    options = (owner.get("securityContext") or {}).get("windowsOptions") or {}
    found: bool | None = options.get("hostProcess")
    return found


_NOT_IN_WINDOWS = (
    *("securityContext.appArmorProfile", "securityContext.seLinuxOptions", "hostUsers", "hostPID", "hostIPC"),
    *("securityContext.seccompProfile", "securityContext.fsGroup", "securityContext.fsGroupChangePolicy"),
    *("securityContext.sysctls", "shareProcessNamespace", "securityContext.runAsUser", "securityContext.runAsGroup"),
    *("securityContext.supplementalGroups", "securityContext.supplementalGroupsPolicy"),
    "securityContext.seLinuxChangePolicy",
)
_NOT_IN_WINDOWS_CONTAINERS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)


def of_system(spec: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a pod's operating system (`os`), and of fields for another one."""
    if (system := spec.get("os")) is None:
        return
    containers = [
        (one.get("securityContext") or {}, f"{place}.{group}[{index}].securityContext")
        for group in ("initContainers", "containers")
        for index, one in enumerate(spec.get(group) or ())
    ]
    context = spec.get("securityContext") or {}
    match system.get("name", ""):
        case "":
            yield required(f"{place}.os.name")
        case "linux":
            for one, field in ((context, f"{place}.securityContext"), *containers):
                if one.get("windowsOptions") is not None:
                    yield forbidden(f"{field}.windowsOptions", "windows options cannot be set for a linux pod")
        case "windows":
            for path in _NOT_IN_WINDOWS:
                name = path.removeprefix("securityContext.")
                value = (context if name != path else spec).get(name)
                if value if name in ("hostPID", "hostIPC", "sysctls") else value is not None:
                    yield forbidden(f"{place}.{path}", "cannot be set for a windows pod")
            for one, field in containers:
                for name in _NOT_IN_WINDOWS_CONTAINERS:
                    if one.get(name) is not None:
                        yield forbidden(f"{field}.{name}", "cannot be set for a windows pod")
        case name:
            yield not_supported(f"{place}.os", name, ("linux", "windows"))
