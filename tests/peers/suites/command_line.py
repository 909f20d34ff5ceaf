# SPDX-License-Identifier: Apache-2.0
"""Runs Kubernetes' own tests of kubectl, which are shell scripts: `python tests/peers/suites/command_line.py [NAME…]`.

They need kubectl and kubectl-convert of the release of the scripts in the folder `KUBECTL_BIN`, and the program that
`KUBE_CONTROLLER_MANAGER` names, as in Kubernetes' own run; without them it says so and ends with 0. The scripts are
cloned; `PEERS_SOURCES` names a directory with a copy of Kubernetes as `kubernetes-commands`. Each function of
`test/cmd/legacy-script.sh` runs in a shell of its own, in that order and on one server. Parts of that script that are
in no function are left out. One thing is changed in the copies: the token of the administrator.

The exit status is 1 if a function fails that exceptions.toml does not list, or passes although it is listed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import click
import yaml
from run import exceptions, judged

from controller_runtime import SystemHost
from controller_runtime.testing import APIServerProcess

NAME, REPOSITORY, TAG = "kubernetes-commands", "https://github.com/kubernetes/kubernetes", "v1.36.2"
TAKEN = (
    *("hack/lib", "hack/testdata", "test/cmd", "test/fixtures", "test/e2e/testing-manifests"),
    "third_party/forked/shell2junit",
)
OFF = (
    "ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,"
    "StorageObjectInUseProtection"
)
LONGEST = 300
"""Seconds after which a function is ended."""
_TOKEN = "admin-token"
_FUNCTION = re.compile(r"^\s*record_command (run_\w+)$", re.MULTILINE)
_FIRST_OBJECTS = """\
apiVersion: v1
kind: Node
metadata: {name: 127.0.0.1, annotations: {save-managers: "true"}}
status: {capacity: {memory: 1Gi}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everyone-may-do-everything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated"}]
"""
_SCRIPT = """\
set -o errexit -o nounset -o pipefail
source hack/lib/init.sh
source hack/lib/test.sh
export THIS_PLATFORM_BIN={programs}
source test/cmd/legacy-script.sh
kube::util::ensure-temp-dir
kube::util::ensure-gnu-sed
HOME="${{KUBE_TEMP}}"
CONTEXT=test
kubectl config set-credentials test-admin --token {token}
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:${{SECURE_API_PORT}}"
kubectl config set-context test --user test-admin --cluster local
kubectl config use-context test
export SUPPORTED_RESOURCES=("*") ALLOW_SKEW=true
run_chosen_tests() {{ create_and_use_new_namespace; {function}; }}
WHAT=chosen
runTests
"""


def sources(folder: Path) -> Path:
    """Return a folder with a copy of the scripts and of what they read."""
    source = Path(os.environ["PEERS_SOURCES"]) / NAME if "PEERS_SOURCES" in os.environ else folder / "clone"
    if not source.exists():
        options = ["-q", "--depth", "1", "--branch", TAG, "--filter=blob:none", "--sparse"]
        subprocess.run(["git", "clone", *options, REPOSITORY, str(source)], check=True)
        subprocess.run(["git", "-C", str(source), "sparse-checkout", "set", *TAKEN], check=True)
    for name in TAKEN:
        shutil.copytree(source / name, folder / "scripts" / name, symlinks=True)
    return folder / "scripts"


def access(kubeconfig: Path) -> tuple[int, str]:
    """Return the port and the token in a kubeconfig."""
    read = yaml.safe_load(kubeconfig.read_text())
    return urlsplit(read["clusters"][0]["cluster"]["server"]).port or 443, read["users"][0]["user"]["token"]


@contextlib.contextmanager
def controllers(kubeconfig: Path, at: Path) -> Iterator[None]:
    """Run the controllers inside the block, and have a node, and a server that forbids no request.

    Kubernetes' own run has the authorization mode `AlwaysAllow`.
    """
    authority = at / "hack" / "testdata" / "ca"
    command = [os.environ["KUBE_CONTROLLER_MANAGER"], "--kubeconfig", str(kubeconfig), "--leader-elect=false"]
    command += ["--secure-port=0", f"--cluster-signing-cert-file={authority / 'ca.crt'}"]
    command += [f"--cluster-signing-key-file={authority / 'ca.key'}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            create = ["kubectl", "--kubeconfig", str(kubeconfig), "create", "-f", "-"]
            subprocess.run(create, input=_FIRST_OBJECTS, text=True, check=True, stdout=subprocess.DEVNULL)
            yield
        finally:
            process.terminate()


def outcome(function: str, at: Path, programs: Path, kubeconfig: Path) -> tuple[str, str]:
    """Run a function; return what became of it, and what it printed."""
    port, token = access(kubeconfig)
    script = _SCRIPT.format(programs=programs, token=token, function=function)
    environment = {**os.environ, "SECURE_API_PORT": str(port), "TERM": "xterm", "LANG": "C"}
    environment["KUBE_JUNIT_REPORT_DIR"] = str(at / "reports")
    environment["TMPDIR"] = str(at / "temporary")  # where the scripts look for the certificate of the server
    environment.pop("KUBECONFIG", None)
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        options = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        with subprocess.Popen(
            ["bash", "-c", script], cwd=at, env=environment, start_new_session=True, **options
        ) as process:
            try:
                state = "passed" if process.wait(LONGEST) == 0 else "failure"
            except subprocess.TimeoutExpired:
                state = "failure"
            finally:
                with contextlib.suppress(ProcessLookupError):  # also what the function has left behind
                    os.killpg(process.pid, 9)
        log.seek(0)
        return state, log.read()


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path, exists=True), help="A cluster in place of the embedded one."
)
@click.option("--logs", type=click.Path(path_type=Path), help="A folder for what each function prints.")
def main(names: tuple[str, ...], kubeconfig: Path | None, logs: Path | None) -> None:
    """Run the functions of these names, or all."""
    missing = [name for name in ("KUBECTL_BIN", "KUBE_CONTROLLER_MANAGER") if name not in os.environ]
    if missing:
        click.echo(f"Kubernetes' tests of kubectl: skipped, {' and '.join(missing)} not set")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes below end, too
    with contextlib.ExitStack() as stack:
        at = sources(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        server = APIServerProcess(SystemHost(), "--cluster-objects", f"--disable-admission-plugins={OFF}")
        target = kubeconfig.absolute() if kubeconfig else stack.enter_context(server).kubeconfig
        for script in (at / "test" / "cmd").glob("*.sh"):
            script.write_text(script.read_text().replace(_TOKEN, access(target)[1]))
        (at / "temporary").mkdir()
        certificate = ssl.get_server_certificate(("127.0.0.1", access(target)[0]))
        (at / "temporary" / "apiserver.crt").write_text(certificate)
        stack.enter_context(controllers(target, at))
        found = {}
        for function in dict.fromkeys(_FUNCTION.findall((at / "test" / "cmd" / "legacy-script.sh").read_text())):
            if names and function not in names:
                continue
            found[function], printed = outcome(function, at, Path(os.environ["KUBECTL_BIN"]), target)
            if logs is not None:
                logs.mkdir(parents=True, exist_ok=True)
                (logs / f"{function}.{found[function]}.txt").write_text(printed)
    lines = judged(found, list(exceptions("commands", real=kubeconfig is not None)))
    counts = Counter(found.values())
    told = ", ".join(f"{counts[state]} {state}" for state in sorted(counts))
    click.echo(f"Kubernetes' tests of kubectl {TAG}: {told}" + "".join(f"\n  {line}" for line in lines))
    sys.exit(int(bool(lines)))


if __name__ == "__main__":
    main()
