# SPDX-License-Identifier: Apache-2.0
"""A real API server for the suites that can use one, by `--kubeconfig FILE`: claimed once, emptied before each use.

Nothing but an API server is needed: no controllers, no kubelets. Everything in it is deleted, so one with nodes or pods
that these tests did not make is refused.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from apimachinery.errors import APIError, NotFound
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.api.resources import NAMESPACES, NODES, PODS, Resource
from controller_runtime.client.client import Client
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport

HOST = SystemHost("tests")
PATIENCE = 60.0
CONFIG_MAPS: Resource[Any] = Resource("", "v1", "ConfigMap", "configmaps")
CLAIM = ObjectKey("controller-runtime-tests", "kube-system")
# The kinds that the suites make. Owners come first, because no controller runs that would delete what they own.
NAMES = (
    *("cronjobs", "jobs", "deployments", "statefulsets", "daemonsets", "replicasets", "replicationcontrollers"),
    *("controllerrevisions", "pods", "poddisruptionbudgets", "services", "endpoints", "endpointslices", "ingresses"),
    *("configmaps", "secrets", "serviceaccounts", "podtemplates", "horizontalpodautoscalers"),
    *("persistentvolumeclaims", "persistentvolumes", "resourcequotas", "limitranges", "roles", "rolebindings"),
    *("leases", "leasecandidates", "events", "nodes", "customresourcedefinitions", "namespaces"),
)
SYSTEM = ("kube-system", "kube-public", "kube-node-lease")


def wait_until(check: Any, what: str) -> None:
    """Call `check` until it returns true, for a minute at most."""
    deadline, never = HOST.monotonic() + PATIENCE, Stop(HOST, "never")
    while not check():
        assert HOST.monotonic() < deadline, f"not within {PATIENCE:g} s: {what}"
        never.wait(0.05)


def emptied(kubeconfig: Path) -> Path:
    """Delete everything that the suites make, and wait until it is gone.

    Raises:
        pytest.exit.Exception: The server has nodes or pods of others; nothing was deleted.
    """
    transport = HTTPTransport(HOST, from_kubeconfig(kubeconfig))
    with contextlib.closing(transport):
        client = Client(HOST, transport)
        _claim(client)
        for name in NAMES:
            with contextlib.suppress(NotFound):  # a kind that is not served
                _empty(client, client.resource(name))
    return kubeconfig


def _claim(client: Client) -> None:
    try:
        client.get(CONFIG_MAPS, CLAIM, dict)
    except NotFound:
        if client.list(NODES, view=dict) or client.list(PODS, view=dict):
            pytest.exit(
                "--kubeconfig: the cluster has nodes or pods, and these tests delete everything: give another server", 2
            )
        wait_until(lambda: _exists(client, NAMESPACES, ObjectKey(CLAIM.namespace)), "its namespace is there")
        client.create(CONFIG_MAPS, {"metadata": {"name": CLAIM.name}}, CLAIM.namespace)


def _exists(client: Client, resource: Resource[Any], key: ObjectKey) -> bool:
    try:
        return bool(client.get(resource, key, dict))
    except NotFound:
        return False


def _is_kept(resource: Resource[Any], metadata: dict[str, Any]) -> bool:
    name, namespace = metadata["name"], metadata.get("namespace", "")
    if resource.plural == "leases" and namespace == "kube-node-lease":
        return False
    return namespace in SYSTEM or name in (*SYSTEM, "default", "kubernetes", "kube-root-ca.crt")


def _empty(client: Client, resource: Resource[Any]) -> None:
    def left() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = client.list(resource, view=dict)
        return [one for one in found if not _is_kept(resource, one["metadata"])]

    def is_empty() -> bool:
        for one in left():
            request = ObjectKey(one["metadata"]["name"], one["metadata"].get("namespace", ""))
            with contextlib.suppress(APIError):  # it has gone or changed meanwhile: look again
                _end(client, resource, request, one)
        return not left()

    wait_until(is_empty, f"{resource} are gone")


def _end(client: Client, resource: Resource[Any], key: ObjectKey, obj: dict[str, Any]) -> None:
    is_definition = resource.plural == "customresourcedefinitions"  # its finalizer is the server's own to take off
    if obj["metadata"].get("finalizers") and not is_definition:
        client.patch(resource, key, {"metadata": {"finalizers": None}})
    client.delete(resource, key, grace_period_seconds=0)
    if resource == NAMESPACES:  # nothing else takes off what holds it: its controller does not run
        latest = client.get(NAMESPACES, key, dict)
        client.update(NAMESPACES, {**latest, "spec": {"finalizers": []}}, subresource="finalize")


def established(client: Client, name: str) -> None:
    """Wait until a definition's kind is served in all its versions, as every client of a real server has to."""
    definitions = client.resource("crd")

    def is_so() -> bool:
        found = client.get(definitions, ObjectKey(name), dict)
        told = found.get("status", {}).get("conditions") or ()  # null just after a definition was made
        conditions = {one["type"]: one["status"] for one in told}
        return conditions.get("Established") == "True" and _is_served(client, found["spec"])

    wait_until(is_so, f"{name} is established")


def _is_served(client: Client, spec: dict[str, Any]) -> bool:
    namespaced = spec["scope"] == "Namespaced"
    for version in spec["versions"]:
        if version["served"]:
            plural = spec["names"]["plural"]
            kind: Resource[Any] = Resource(spec["group"], version["name"], spec["names"]["kind"], plural, namespaced)
            try:
                client.list(kind, view=dict)
                client.resource(plural, kind.api_version)
            except NotFound:
                return False
    return True
