# SPDX-License-Identifier: Apache-2.0
"""Admissions by a check that is served over TLS, asked by as many connections as named: REQUESTS CONNECTIONS."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from apimachinery.host import Host
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from benchmarks.harness import report
from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.manifests.facts import unconnected_manager
from controller_runtime.webhooks import Admission, Checks, FieldError, WebhookServing
from controller_runtime.webhooks.authority import created


class CabinSpec(Struct):
    beds: int
    heating: str = "wood"


@custom_resource("example.com/v1")
class Cabin(CustomResource):
    spec: CabinSpec


def refuse(cabin: Cabin, request: Admission[Cabin]) -> FieldError | None:
    """Refuse too many beds."""
    return FieldError("spec.beds", "nine at most") if cabin.spec.beds > 9 else None


def review(number: int) -> bytes:
    """Return a review of about 1.5 KB, as a server sends it for a creation."""
    fields: dict[str, Any] = {"f:metadata": {"f:annotations": {}}, "f:spec": {"f:beds": {}, "f:heating": {}}}
    metadata: dict[str, Any] = {"name": f"cabin-{number}", "namespace": "default", "uid": "d" * 36}
    metadata |= {"annotations": {"note": "x" * 300}, "managedFields": [{"manager": "kubectl", "fieldsV1": fields}]}
    obj = {"apiVersion": "example.com/v1", "kind": "Cabin", "metadata": metadata, "spec": {"beds": 3}}
    gvk = {"group": "example.com", "version": "v1", "kind": "Cabin"}
    request = {
        "uid": f"{number:036}",
        "kind": gvk,
        "requestKind": gvk,
        "name": metadata["name"],
        "namespace": "default",
    }
    request |= {"operation": "CREATE", "userInfo": {"username": "ann", "groups": ["system:authenticated"]}}
    request |= {"object": obj, "oldObject": None, "dryRun": False, "options": {"kind": "CreateOptions"}}
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).encode()


def ask(port: int, context: ssl.SSLContext, path: str, requests: int) -> None:
    """Send reviews over one connection, and read whether each is allowed."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    for number in range(requests):
        connection.request("POST", f"{path}?timeout=10s", review(number), {"content-type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        if not answer["response"]["allowed"]:
            raise SystemExit("an admission was refused")
    connection.close()


@contextlib.contextmanager
def replica(host: Host, stop: Stop) -> Iterator[tuple[int, str, str]]:
    """Serve the check over TLS, and yield the port, its path, and the authority of its certificate (PEM)."""
    manager = unconnected_manager(host)
    hook = Checks(Cabin, refuse)
    manager.webhooks.add(hook)
    certificates = created(host.now(), ["127.0.0.1"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tls.crt").write_bytes(certificates.leaf.certificate)
        (folder / "tls.key").write_bytes(certificates.leaf.key)
        manager.webhooks.serve(WebhookServing(address="127.0.0.1:0", folder=folder))
        manager.webhooks.start(stop)
        yield manager.webhooks.port, hook.path, certificates.bundle.decode()
        manager.webhooks.close()


def main() -> None:
    """Print the CPU of one admission at both ends together, and the admissions in a second of CPU."""
    requests, connections = int(sys.argv[1]), int(sys.argv[2])
    host = SystemHost()
    stop = Stop(host)
    with replica(host, stop) as (port, path, authority):
        context = ssl.create_default_context(cadata=authority)
        ask(port, context, path, 50)
        begin, cpu = time.perf_counter(), time.process_time()
        each = requests // connections
        threads = [
            spawn(host, stop, f"asks-{number}", lambda: ask(port, context, path, each)) for number in range(connections)
        ]
        for thread in threads:
            thread.join_until(None)
        used, took = time.process_time() - cpu, time.perf_counter() - begin
    report({"cpu_ms": used / requests * 1000, "per_cpu_s": requests / used, "per_s": requests / took})


if __name__ == "__main__":
    main()
