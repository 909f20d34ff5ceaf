# SPDX-License-Identifier: Apache-2.0
"""Every module can be imported where names and files that only Linux has are missing, such as on macOS."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import apimachinery
import controller_runtime
import controllers
import embedded_apiserver

pytestmark = pytest.mark.once

PROGRAM = """
import importlib, os, pkgutil, re, resource, select, signal, socket, sys, time

LINUX_ONLY = {
    os: "sched_.* SCHED_.* O_DIRECT O_PATH O_TMPFILE O_NOATIME O_LARGEFILE pipe2 eventfd.* EFD_.* memfd_create MFD_.* "
    "pidfd_.* getrandom GRND_.* fdatasync posix_fadvise posix_fallocate copy_file_range splice SPLICE_.* unshare setns "
    "CLONE_.* [gs]etxattr listxattr removexattr XATTR_.* timerfd_.* TFD_.*",
    select: "epoll EPOLL.* POLLRDHUP",
    signal: "SIGPWR SIGSTKFLT SIGPOLL SIGCLD SIGRT.* sigwaitinfo sigtimedwait",
    socket: "SO_BINDTODEVICE SO_DOMAIN SO_INCOMING_CPU SO_MARK SO_PASSCRED SO_PEERCRED SO_PRIORITY SO_PROTOCOL "
    "TCP_KEEPIDLE TCP_USER_TIMEOUT TCP_CORK TCP_QUICKACK TCP_DEFER_ACCEPT TCP_INFO AF_NETLINK AF_PACKET AF_VSOCK "
    "AF_CAN AF_ALG NETLINK_.* PACKET_.* MSG_NOSIGNAL SOCK_CLOEXEC SOCK_NONBLOCK",
    resource: "prlimit RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_OFILE RLIMIT_RT.* RLIMIT_SIGPENDING RUSAGE_THREAD",
    time: "CLOCK_BOOTTIME CLOCK_TAI pthread_getcpuclockid",
}
for module, patterns in LINUX_ONLY.items():
    for name in dir(module):
        if any(re.fullmatch(pattern, name) for pattern in patterns.split()):
            delattr(module, name)


def refuse(event, arguments):
    if event == "open" and re.match("/(proc|sys)/", str(arguments[0])):
        raise FileNotFoundError(f"{arguments[0]} is read at import")


sys.addaudithook(refuse)
count = 0
for root in ("apimachinery", "embedded_apiserver", "controller_runtime", "controllers"):
    package = importlib.import_module(root)
    for found in pkgutil.walk_packages(package.__path__, f"{root}."):
        importlib.import_module(found.name)
        count += 1
print(count)
"""


def test_each_module_is_imported_without_what_only_linux_has(tmp_path: Path) -> None:
    places = [
        str(Path(package.__file__ or "").parents[1])
        for package in (apimachinery, embedded_apiserver, controller_runtime, controllers)
    ]

    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300
