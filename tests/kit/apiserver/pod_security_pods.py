# SPDX-License-Identifier: Apache-2.0
"""Pods by name, each of which shows one answer, or several at once, of the checks of pod security."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

GOOD: Object = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
GOOD_POD: Object = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_OF = "container.seccomp.security.alpha.kubernetes.io/"
_SYSCTLS = (
    *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
    *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports"),
    *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
    *("net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
)
_CAPABILITIES = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
    *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)


def container(name: str = "c", of: Mapping[str, Any] = GOOD, **parts: Any) -> Object:
    """Return a container with a security context; parts of None are left out."""
    return {"name": name, "image": "i", "securityContext": {**of}, **parts}


def secured(name: str = "c", **context: Any) -> Object:
    """Return a container that restricted allows but for these parts of its security context."""
    return container(name, {key: value for key, value in {**GOOD, **context}.items() if value is not None})


def good(*containers: Object, of_pod: Mapping[str, Any] | None = None, **spec: Any) -> Object:
    """Return the spec of a pod that restricted allows but for what is given."""
    context = {key: value for key, value in {**GOOD_POD, **(of_pod or {})}.items() if value is not None}
    return {"containers": [*(containers or (container(),))], "securityContext": context, **spec}


def bare(name: str = "c", **parts: Any) -> Object:
    """Return a container without a security context."""
    return {"name": name, "image": "i", **parts}


def _probed(**parts: Any) -> Object:
    return good(container(**parts))


def _mounted(**volumes: Any) -> Object:
    return good(volumes=[{"name": f"v{number}", **volume} for number, volume in enumerate(volumes.values())])


def _http(host: str = "", port: int = 80) -> Object:
    return {"httpGet": {"port": port, **({"host": host} if host else {})}}


def _tcp(host: str) -> Object:
    return {"tcpSocket": {"port": 80, "host": host}}


def _capable(*added: str, drop: tuple[str, ...] = ("ALL",)) -> Object:
    return {"capabilities": {"add": [*added], "drop": [*drop]}}


def _linux(kind: str, **more: str) -> Object:
    return {"seLinuxOptions": {"type": kind, **more} if kind else more}


def _armor(kind: str) -> Object:
    return {"appArmorProfile": {"type": kind, **({"localhostProfile": "p"} if kind == "Localhost" else {})}}


def _comp(kind: str) -> Object:
    return {"seccompProfile": {"type": kind, **({"localhostProfile": "p"} if kind == "Localhost" else {})}}


def _windows(*containers: Object, **spec: Any) -> Object:
    return {"os": {"name": "windows"}, "containers": [*(containers or (bare(),))], **spec}


_HOST_PROCESS = {"windowsOptions": {"hostProcess": True}}
_PATH: Object = {"hostPath": {"path": "/a"}}

VOLUMES: Mapping[str, Object] = {
    "awsElasticBlockStore": {"volumeID": "a"},
    "azureDisk": {"diskName": "a", "diskURI": "https://a.blob.core.windows.net/b/c.vhd"},
    "azureFile": {"secretName": "a", "shareName": "b"},
    "cephfs": {"monitors": ["a"]},
    "cinder": {"volumeID": "a"},
    "configMap": {"name": "a"},
    "csi": {"driver": "a.example.com"},
    "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]},
    "emptyDir": {},
    "fc": {"targetWWNs": ["a"], "lun": 1},
    "flexVolume": {"driver": "example.com/a"},
    "flocker": {"datasetName": "a"},
    "gcePersistentDisk": {"pdName": "a"},
    "gitRepo": {"repository": "a"},
    "glusterfs": {"endpoints": "a", "path": "b"},
    "hostPath": {"path": "/a"},
    "image": {"reference": "a"},
    "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:a", "lun": 1},
    "nfs": {"server": "a", "path": "/b"},
    "persistentVolumeClaim": {"claimName": "a"},
    "photonPersistentDisk": {"pdID": "a"},
    "portworxVolume": {"volumeID": "a"},
    "projected": {"sources": [{"configMap": {"name": "a"}}]},
    "quobyte": {"registry": "a:1", "volume": "b"},
    "rbd": {"monitors": ["a"], "image": "b"},
    "scaleIO": {"gateway": "a", "system": "b", "volumeName": "c", "secretRef": {"name": "d"}},
    "secret": {"secretName": "a"},
    "storageos": {"volumeName": "a", "volumeNamespace": "b"},
    "vsphereVolume": {"volumePath": "a"},
}
_CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}

SPECS: Mapping[str, Object] = {
    "good": good(),
    "plain": {"containers": [bare()]},
    "plain, two containers": {"containers": [bare(), bare("d")]},
    "plain, of each group": {"containers": [bare()], "initContainers": [bare("a")]},
    "escalation true": good(secured(allowPrivilegeEscalation=True)),
    "escalation unset of two": good(secured("a", allowPrivilegeEscalation=None), secured("b"), bare("c")),
    "escalation of an init container": good(initContainers=[secured("i", allowPrivilegeEscalation=None)]),
    "capabilities kept": good(secured(capabilities={"drop": ["KILL"]})),
    "capabilities unset": good(secured(capabilities=None)),
    "capabilities added": good(secured(**_capable("SYS_ADMIN", "NET_RAW"))),
    "capabilities small port": good(secured(**_capable("NET_BIND_SERVICE"))),
    "capabilities of default": good(secured(**_capable(*_CAPABILITIES))),
    "capabilities added by several": good(
        secured("b", **_capable("ZAP", drop=())),
        secured("a", **_capable("ADD", "ZAP")),
        secured("d", **_capable("CHOWN")),
    ),
    "capabilities of an init container": good(initContainers=[secured("i", **_capable("SYS_TIME", drop=("all",)))]),
    "host network": good(hostNetwork=True),
    "host pid": good(hostPID=True),
    "host ipc": good(hostIPC=True),
    "host namespaces": good(hostNetwork=True, hostPID=True, hostIPC=True),
    "host network false": good(hostNetwork=False),
    "host path": _mounted(a=_PATH),
    "host paths": _mounted(a=_PATH, b={"emptyDir": {}}, c=_PATH),
    "host port": good(container(ports=[{"containerPort": 80, "hostPort": 80}])),
    "host port 0": good(container(ports=[{"containerPort": 80, "hostPort": 0}])),
    "host ports": good(container(ports=[{"containerPort": 9, "hostPort": 9}, {"containerPort": 80, "hostPort": 80}])),
    "host ports of two": good(
        container("b", ports=[{"containerPort": 9, "hostPort": 9}]),
        container("a", ports=[{"containerPort": 1, "hostPort": 80}]),
    ),
    "host port of an init container": good(
        initContainers=[container("i", ports=[{"containerPort": 9, "hostPort": 9}])]
    ),
    "probe without a host": _probed(livenessProbe=_http()),
    "probe with a host": _probed(livenessProbe=_http("a")),
    "probe of readiness": _probed(readinessProbe=_tcp("a")),
    "probe of startup": _probed(startupProbe=_http("a")),
    "hook after the start": _probed(lifecycle={"postStart": _http("a")}),
    "hook before the stop": _probed(lifecycle={"preStop": _tcp("a")}),
    "probes of several": good(
        container("b", livenessProbe=_http("z"), readinessProbe=_http("y")),
        container("a", startupProbe=_tcp("z"), lifecycle={"postStart": _http("x"), "preStop": _http("y")}),
    ),
    "probe of an init container": good(
        initContainers=[container("i", restartPolicy="Always", livenessProbe=_http("127.0.0.1"))]
    ),
    "privileged": good(secured(privileged=True, allowPrivilegeEscalation=None)),
    "privileged false": good(secured(privileged=False)),
    "privileged of two": {
        "containers": [bare("a", securityContext={"privileged": True}), bare("b", securityContext={"privileged": True})]
    },
    "privileged init container": {
        "containers": [bare()],
        "initContainers": [bare("i", securityContext={"privileged": True})],
    },
    "proc mount default": good(secured(procMount="Default")),
    "proc mount of own users": good(secured(procMount="Unmasked"), hostUsers=False),
    "proc mount of two": good(secured("a", procMount="Unmasked"), secured("b", procMount="Unmasked"), hostUsers=False),
    "selinux allowed": good(of_pod=_linux("container_t")),
    "selinux of init": good(secured(**_linux("container_init_t")), secured("d", **_linux("container_kvm_t"))),
    "selinux engine": good(of_pod=_linux("container_engine_t")),
    "selinux type": good(of_pod=_linux("a_t")),
    "selinux types": good(secured(**_linux("b_t")), secured("d", **_linux("a_t")), of_pod=_linux("a_t")),
    "selinux user": good(of_pod=_linux("", user="u")),
    "selinux role": good(secured(**_linux("", role="r"))),
    "selinux level": good(of_pod=_linux("", level="s0")),
    "selinux everything": good(
        secured("b", **_linux("", user="u")), secured("a", **_linux("z_t", role="r")), of_pod=_linux("y_t")
    ),
    "app armor default": good(of_pod=_armor("RuntimeDefault")),
    "app armor file": good(secured(**_armor("Localhost"))),
    "app armor none": good(of_pod=_armor("Unconfined")),
    "app armor none of containers": good(secured(**_armor("Unconfined")), secured("d", **_armor("Unconfined"))),
    "app armor none of all": good(secured(**_armor("Unconfined")), of_pod=_armor("Unconfined")),
    "seccomp none": good(of_pod=_comp("Unconfined")),
    "seccomp none of a container": good(secured(**_comp("Unconfined"))),
    "seccomp none of all": good(secured("b", **_comp("Unconfined")), secured("a"), of_pod=_comp("Unconfined")),
    "seccomp unset": good(of_pod={"seccompProfile": None}),
    "seccomp unset of two": good(
        secured("a"), secured("b", **_comp("Localhost")), bare("d"), of_pod={"seccompProfile": None}
    ),
    "seccomp of each container": good(secured(**_comp("Localhost")), of_pod={"seccompProfile": None}),
    "seccomp of the pod none, of the container one": good(
        secured(**_comp("RuntimeDefault")), of_pod=_comp("Unconfined")
    ),
    "sysctl": good(of_pod={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
    "sysctls": good(of_pod={"sysctls": [{"name": name, "value": "1"} for name in ("net.b", "kernel.a", *_SYSCTLS)]}),
    "sysctls that are safe": good(of_pod={"sysctls": [{"name": name, "value": "1"} for name in _SYSCTLS]}),
    "root unset": good(of_pod={"runAsNonRoot": None}),
    "root by the pod": good(of_pod={"runAsNonRoot": False}),
    "root by a container": good(secured(runAsNonRoot=False)),
    "root by all": good(
        secured("b", runAsNonRoot=False), secured("a", runAsNonRoot=False), of_pod={"runAsNonRoot": False}
    ),
    "root by the pod, not by its container": good(secured(runAsNonRoot=True), of_pod={"runAsNonRoot": False}),
    "root unset, not by its container": good(secured(runAsNonRoot=True), of_pod={"runAsNonRoot": None}),
    "root unset of two": good(
        secured("a"), secured("b"), secured("d", runAsNonRoot=True), of_pod={"runAsNonRoot": None}
    ),
    "root of own users": good(of_pod={"runAsNonRoot": None, "runAsUser": 0}, hostUsers=False),
    "root of the host's users": good(of_pod={"runAsNonRoot": None, "runAsUser": 0}, hostUsers=True),
    "user 0": good(of_pod={"runAsUser": 0}),
    "user 1": good(of_pod={"runAsUser": 1}),
    "user 0 of containers": good(secured("b", runAsUser=0), secured("a", runAsUser=0), secured("d", runAsUser=7)),
    "user 0 of all": good(secured(runAsUser=0), of_pod={"runAsUser": 0}),
    "user 0 of an init container": good(initContainers=[secured("i", runAsUser=0)]),
    "windows": _windows(),
    "windows, not root": _windows(securityContext={"runAsNonRoot": True}),
    "windows host process": _windows(securityContext=_HOST_PROCESS, hostNetwork=True),
    "windows host process of containers": _windows(
        bare("a", securityContext=_HOST_PROCESS), bare("b", securityContext=_HOST_PROCESS), hostNetwork=True
    ),
    "windows host process of all": _windows(
        bare("a", securityContext=_HOST_PROCESS), securityContext=_HOST_PROCESS, hostNetwork=True
    ),
    "linux by name": {"os": {"name": "linux"}, "containers": [bare()]},
    "everything at once": {
        "containers": [
            bare("b", securityContext={"privileged": True, "runAsUser": 0, **_capable("SYS_ADMIN", drop=())}),
            bare("a", ports=[{"containerPort": 1, "hostPort": 1}], livenessProbe=_http("h")),
        ],
        "initContainers": [bare("i", securityContext={**_linux("t"), **_armor("Unconfined"), **_comp("Unconfined")})],
        "volumes": [{"name": "v", **_PATH}, {"name": "w", "nfs": VOLUMES["nfs"]}],
        "securityContext": {"sysctls": [{"name": "kernel.a", "value": "1"}], "runAsNonRoot": False},
        "hostNetwork": True,
        "hostPID": True,
    },
    "with warnings of its own": {"containers": [bare()], "nodeSelector": {"beta.kubernetes.io/os": "linux"}},
    "every volume": _mounted(**{name: {name: source} for name, source in VOLUMES.items()}),
    "an ephemeral volume": _mounted(a={"ephemeral": {"volumeClaimTemplate": _CLAIM}}),
    **{f"volume {name}": _mounted(a={name: source}) for name, source in VOLUMES.items()},
}
"""The specs of pods."""

_ANNOTATED: Mapping[str, Object] = {
    "app armor annotation": {f"{APP_ARMOR}c": "unconfined"},
    "app armor annotation default": {f"{APP_ARMOR}c": "runtime/default"},
    "app armor annotation file": {f"{APP_ARMOR}c": "localhost/p"},
    "seccomp annotation": {SECCOMP: "unconfined"},
    "seccomp annotation docker": {SECCOMP: "docker/default"},
    "seccomp annotations": {f"{SECCOMP_OF}c": "unconfined", SECCOMP: "unconfined"},
    "seccomp annotation of no container": {f"{SECCOMP_OF}other": "unconfined"},
    "seccomp annotation file": {SECCOMP: "localhost/p", f"{SECCOMP_OF}c": "runtime/default"},
}


def pods() -> dict[str, Object]:
    """Return all pods, by name; each one's own name is `p`."""
    made = {name: {"metadata": {"name": "p"}, "spec": spec} for name, spec in SPECS.items()}
    for name, noted in _ANNOTATED.items():
        spec = good() if name.startswith("app armor") else good(of_pod={"seccompProfile": None})
        made[name] = {"metadata": {"name": "p", "annotations": noted}, "spec": spec}
    return made
