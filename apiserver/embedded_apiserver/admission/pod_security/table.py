# SPDX-License-Identifier: Apache-2.0
"""The table of the checks: for each one its level, its history by release, and the checks that it stands in for."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

from embedded_apiserver.admission.pod_security import baseline, profiles, restricted, seccomp
from embedded_apiserver.admission.pod_security.levels import Level, LevelVersion
from embedded_apiserver.admission.pod_security.violations import CheckPod, Violation
from embedded_apiserver.objects import Object


class Check(NamedTuple):
    """A pod security check, and the releases in which it changed.

    Attributes:
        name: The name of the check; the checks of a level are sorted by name.
        level: The least restrictive level with this check; `restricted` includes the checks of `baseline`.
        history: The versions of the check, by the minor version of the release that introduced them.
        replaces: The names of the baseline checks that this check replaces.
    """

    name: str
    level: Level
    history: Mapping[int, CheckPod]
    replaces: frozenset[str] = frozenset()


_TYPES = ("container_t", "container_init_t", "container_kvm_t")
_SYSCTLS = (
    *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
    *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
)
_RESERVED = "net.ipv4.ip_local_reserved_ports"
_KEPT_ALIVE = (
    *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
    "net.ipv4.tcp_keepalive_probes",
)
_BUFFERS = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")

CHECKS = (
    Check("appArmorProfile", Level.BASELINE, {0: profiles.app_armor}),
    Check("capabilities_baseline", Level.BASELINE, {0: baseline.capabilities}),
    Check("hostNamespaces", Level.BASELINE, {0: baseline.host_namespaces}),
    Check("hostPathVolumes", Level.BASELINE, {0: baseline.host_path_volumes}),
    Check("hostPorts", Level.BASELINE, {0: baseline.host_ports}),
    Check("hostProbesAndHostLifecycle", Level.BASELINE, {34: baseline.hosts_of_probes}),
    Check("privileged", Level.BASELINE, {0: baseline.privileged}),
    Check("procMount", Level.BASELINE, {0: baseline.proc_mount, 35: baseline.proc_mount_of_own_users}),
    Check(
        "seLinuxOptions",
        Level.BASELINE,
        {0: profiles.se_linux(*_TYPES), 31: profiles.se_linux(*_TYPES, "container_engine_t")},
    ),
    Check("seccompProfile_baseline", Level.BASELINE, {0: seccomp.by_annotations, 19: seccomp.of_baseline}),
    Check(
        "sysctls",
        Level.BASELINE,
        {
            0: baseline.sysctls(*_SYSCTLS),
            27: baseline.sysctls(*_SYSCTLS, _RESERVED),
            29: baseline.sysctls(*_SYSCTLS, _RESERVED, *_KEPT_ALIVE),
            32: baseline.sysctls(*_SYSCTLS, _RESERVED, *_KEPT_ALIVE, *_BUFFERS),
        },
    ),
    Check("windowsHostProcess", Level.BASELINE, {0: baseline.windows_host_process}),
    Check(
        "allowPrivilegeEscalation",
        Level.RESTRICTED,
        {8: restricted.privilege_escalation, 25: restricted.privilege_escalation_linux},
    ),
    Check(
        "capabilities_restricted",
        Level.RESTRICTED,
        {22: restricted.capabilities, 25: restricted.capabilities_linux},
        frozenset({"capabilities_baseline"}),
    ),
    Check("procMount_restricted", Level.RESTRICTED, {35: baseline.proc_mount}, frozenset({"procMount"})),
    Check("restrictedVolumes", Level.RESTRICTED, {0: restricted.volumes}, frozenset({"hostPathVolumes"})),
    Check("runAsNonRoot", Level.RESTRICTED, {0: restricted.non_root, 35: restricted.non_root_but_own_users}),
    Check("runAsUser", Level.RESTRICTED, {23: restricted.user, 35: restricted.user_but_own_users}),
    Check(
        "seccompProfile_restricted",
        Level.RESTRICTED,
        {19: seccomp.of_restricted, 25: seccomp.of_restricted_linux},
        frozenset({"seccompProfile_baseline"}),
    ),
)
"""All checks, in the order of their violations: those of baseline first, each level by name."""


def violations(asked: LevelVersion, newest: int, metadata: Object, spec: Object) -> list[Violation]:
    """Return the violations of a pod security level by a pod.

    Args:
        asked: The level; for a release after `newest`, the level of `newest` is used.
        newest: The minor version of the newest known release.
        metadata: The metadata of the pod.
        spec: The spec of the pod, in its stored form.
    """
    minor = newest if asked.minor is None else min(asked.minor, newest)
    return [found for check in checks_of(asked.level, minor) if (found := check(metadata, spec)) is not None]


@functools.cache
def checks_of(level: Level, minor: int) -> tuple[CheckPod, ...]:
    """Return the checks of a level in the release 1.`minor`, in their order."""
    made = [(one, one.history[max(since)]) for one in CHECKS if (since := _since(one, level, minor))]
    replaced = frozenset[str]().union(*(one.replaces for one, _ in made))
    return tuple([check for one, check in made if one.name not in replaced])


def _since(check: Check, level: Level, minor: int) -> list[int]:
    """Return the releases up to a minor number in which a check changed; none if the level has not got it."""
    return [first for first in check.history if first <= minor] if check.level.rank <= level.rank else []
