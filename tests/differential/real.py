# SPDX-License-Identifier: Apache-2.0
"""A real kube-apiserver with its etcd, started from a folder that has both."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

import yaml

from differential.servers import Real

SWITCHED_ON = "CoordinatedLeaderElection"
"""The feature gate that is on in the started server, and off by default in each release."""


def _ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


@contextlib.contextmanager
def started(folder: Path, without: Collection[str] = ("ServiceAccount",), emulated: str = "") -> Iterator[Path]:
    """Start both programs of a folder; yield the kubeconfig of the administrator, and end them.

    Args:
        folder: Has `etcd` and `kube-apiserver`.
        without: The steps of admission to switch off.
        emulated: The older release, such as 1.35, as which it answers; its own if empty.
    """
    port, clients, peers = _ports(3)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        place = Path(name)
        key = place / "sa.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        (place / "tokens.csv").write_text('admintoken,admin,,"system:masters"\n', encoding="utf-8")
        etcd = f"http://127.0.0.1:{clients}"
        _run(stack, place / "etcd.log", str(folder / "etcd"), str(place / "etcd"), etcd, f"http://127.0.0.1:{peers}")
        _run(
            *(stack, place / "apiserver.log", str(folder / "kube-apiserver"), f"--etcd-servers={etcd}"),
            *(f"--secure-port={port}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"),
            *(f"--cert-dir={place / 'certs'}", f"--service-account-key-file={key}"),
            *(f"--service-account-signing-key-file={key}", "--service-account-issuer=https://kubernetes.default.svc"),
            *(f"--token-auth-file={place / 'tokens.csv'}", "--authorization-mode=RBAC"),
            *(
                "--service-cluster-ip-range=10.0.0.0/24",
                "--allow-privileged=true",
                f"--disable-admission-plugins={','.join(without)}",
            ),
            # Its consumer writes to the status of flow schemas whenever it gets to it: no two runs are alike.
            "--enable-priority-and-fairness=false",
            f"--feature-gates={SWITCHED_ON}=true",
            "--runtime-config=coordination.k8s.io/v1beta1=true,coordination.k8s.io/v1alpha2=true",
            *([f"--emulated-version={emulated}"] if emulated else []),
        )
        kubeconfig = place / "kubeconfig"
        cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
        config = {
            "clusters": [{"name": "a", "cluster": cluster}],
            "users": [{"name": "a", "user": {"token": "admintoken"}}],
        }
        kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
        with contextlib.closing(Real(kubeconfig)) as real:
            real.wait_for("/readyz")
        yield kubeconfig


def _run(stack: contextlib.ExitStack, log: Path, *command: str) -> None:
    output = stack.enter_context(log.open("wb"))
    process = stack.enter_context(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT))
    stack.callback(process.terminate)
