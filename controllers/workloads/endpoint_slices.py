# SPDX-License-Identifier: Apache-2.0
"""Keeps the EndpointSlices of services: the addresses of the pods that a service selects."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from apimachinery.errors import NotFound, StaleCache
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, labels_of
from controller_runtime.api.builtin_resources import ENDPOINT_SLICES, SERVICES
from controller_runtime.api.references import set_controller
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.own_writes import OwnWrites
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controllers.workloads.pods import ENDED, PodCondition
from controllers.workloads.scheduler_plan import Node

NAME = "endpointslice-controller"
MANAGED_BY, SERVICE_NAME = "endpointslice.kubernetes.io/managed-by", "kubernetes.io/service-name"
ZONE = "topology.kubernetes.io/zone"
MOST = 100
"""The most endpoints of one slice, as in Kubernetes."""


class _Port(msgspec.Struct, gc=False, rename="camel"):
    port: int
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str = 0
    app_protocol: str | None = None


class _ServiceSpec(msgspec.Struct, gc=False, rename="camel"):
    selector: dict[str, str] | None = None
    ports: list[_Port] | None = None
    type: str = "ClusterIP"
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    publish_not_ready_addresses: bool = False


class Service(msgspec.Struct, gc=False):
    """A service."""

    metadata: ObjectMeta
    spec: _ServiceSpec = msgspec.field(default_factory=_ServiceSpec)


class _ContainerPort(msgspec.Struct, gc=False, rename="camel"):
    container_port: int
    name: str = ""
    protocol: str = "TCP"


class _EndpointContainer(msgspec.Struct, gc=False):
    ports: list[_ContainerPort] | None = None


class _PodSpec(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    containers: list[_EndpointContainer] = msgspec.field(default_factory=list)


class _PodStatus(msgspec.Struct, gc=False, rename="camel"):
    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: list[PodCondition] | None = None


class AddressedPod(msgspec.Struct, gc=False):
    """The fields of a pod that its endpoint shows."""

    metadata: ObjectMeta
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)

    @property
    def is_ready(self) -> bool:
        """Whether the condition Ready is true."""
        return any(each.type == "Ready" and each.status == "True" for each in self.status.conditions or ())

    @property
    def counts(self) -> bool:
        """Whether the pod becomes an endpoint: it has an address and a node, and has not ended."""
        return bool(self.status.pod_ip and self.spec.node_name) and self.status.phase not in ENDED


class Slice(msgspec.Struct, gc=False):
    """An EndpointSlice."""

    metadata: ObjectMeta
    endpoints: list[dict[str, Any]] | None = None
    ports: list[dict[str, Any]] | None = None


def endpoint_of(service: Service, pod: AddressedPod, zone: str) -> dict[str, Any]:
    """Return the endpoint of a pod in the zone of its node."""
    terminating = pod.metadata.deletion_timestamp is not None
    serving = pod.is_ready
    ready = (serving or service.spec.publish_not_ready_addresses) and (
        not terminating or service.spec.publish_not_ready_addresses
    )
    endpoint: dict[str, Any] = {
        "addresses": [pod.status.pod_ip],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {
            "kind": "Pod",
            "namespace": pod.metadata.namespace,
            "name": pod.metadata.name,
            "uid": pod.metadata.uid,
        },
        "nodeName": pod.spec.node_name,
    }
    if zone:
        endpoint["zone"] = zone
    if pod.spec.hostname and pod.spec.subdomain == service.metadata.name:
        endpoint["hostname"] = pod.spec.hostname
    return endpoint


def ports_for(service: Service, pod: AddressedPod) -> list[dict[str, Any]]:
    """Return the ports of an endpoint slice for a pod; a named target port is looked up in the pod."""
    found = []
    for port in service.spec.ports or ():
        number: int | None = port.target_port if isinstance(port.target_port, int) else _named(pod, port)
        if number is None:
            continue
        made: dict[str, Any] = {"name": port.name, "protocol": port.protocol, "port": number or port.port}
        if port.app_protocol is not None:
            made["appProtocol"] = port.app_protocol
        found.append(made)
    return found


def _named(pod: AddressedPod, port: _Port) -> int | None:
    for container in pod.spec.containers:
        for each in container.ports or ():
            if (each.name, each.protocol) == (port.target_port, port.protocol):
                return each.container_port
    return None


def slices_for(
    service: Service, pods: Sequence[AddressedPod], zones: Mapping[str, str]
) -> list[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Return the endpoints and ports of each slice that a service needs; one empty slice if no pod becomes an endpoint.

    Args:
        service: The service.
        pods: The pods that the service selects.
        zones: The zone of each node, by its name.
    """
    by_ports: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {}
    for pod in sorted((pod for pod in pods if pod.counts), key=lambda pod: pod.metadata.name):
        ports = ports_for(service, pod)
        endpoints, _ = by_ports.setdefault(str(ports), ([], ports))
        endpoints.append(endpoint_of(service, pod, zones.get(pod.spec.node_name, "")))
    found = [
        (endpoints[start : start + MOST], ports)
        for endpoints, ports in by_ports.values()
        for start in range(0, len(endpoints), MOST)
    ]
    return found or [([], [])]


@attrs.frozen
class EndpointSlices(Reconciler):
    """Writes the endpoint slices of services.

    Slices that another controller manages (by their label) are not changed.
    """

    services: Lister[Service]
    pods: Lister[AddressedPod]
    nodes: Lister[Node]
    slices: Lister[Slice]
    client: Client
    own_writes: OwnWrites

    def reconcile(self, request: Request) -> Result:
        """Create, change and delete the slices of a service until they match its pods."""
        service = self.services.get(request)
        if service is None or not service.spec.selector or service.spec.type == "ExternalName":
            self.own_writes.forget(request)
            return Result()
        try:
            self.own_writes.check(request)
        except StaleCache:  # the change that the cache lacks is one of a slice, which brings the service back
            return Result()
        selector = ",".join(f"{name}={value}" for name, value in sorted(service.spec.selector.items()))
        zones = {node.name: node.labels.get(ZONE, "") for node in self.nodes.list()}
        wanted = slices_for(service, self.pods.list(request.namespace, selector), zones)
        present = self.slices.list(request.namespace, f"{SERVICE_NAME}={request.name},{MANAGED_BY}={_VALUE}")
        present = sorted(present, key=lambda each: (str(each.metadata.creation_timestamp), each.metadata.name))
        for place, (endpoints, ports) in enumerate(wanted):
            if place >= len(present):
                self._wrote(service, self.client.create(ENDPOINT_SLICES, _body(service, endpoints, ports)))
            elif (present[place].endpoints or [], present[place].ports or []) != (endpoints, ports):
                self._change(service, present[place], endpoints, ports)
        for each in present[len(wanted) :]:
            with contextlib.suppress(NotFound):
                key = ObjectKey(each.metadata.name, request.namespace)
                self.client.delete(ENDPOINT_SLICES, key, uid=each.metadata.uid)
        return Result()

    def _change(self, service: Service, present: Slice, endpoints: list[Any], ports: list[Any]) -> None:
        key = ObjectKey(present.metadata.name, present.metadata.namespace)
        patch = {"metadata": {"uid": present.metadata.uid}, "endpoints": endpoints, "ports": ports}
        with contextlib.suppress(NotFound):
            self._wrote(service, self.client.patch(ENDPOINT_SLICES, key, patch))

    def _wrote(self, service: Service, made: Cached) -> None:
        key = ObjectKey(service.metadata.name, service.metadata.namespace)
        self.own_writes.wrote(key, service.metadata.uid, self.slices, made.resource_version)


_VALUE = "endpointslice-controller.k8s.io"


def _body(service: Service, endpoints: list[Any], ports: list[Any]) -> dict[str, Any]:
    labels = {**(service.metadata.labels or {}), SERVICE_NAME: service.metadata.name, MANAGED_BY: _VALUE}
    if service.spec.cluster_ip == "None":
        labels["service.kubernetes.io/headless"] = ""
    body: dict[str, Any] = {
        "metadata": {
            "generateName": f"{service.metadata.name}-",
            "namespace": service.metadata.namespace,
            "labels": labels,
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": ports,
    }
    set_controller(body, service, SERVICES)
    return body


def endpoint_slice_controller(manager: Manager, *, workers: int = 5) -> Controller:
    """Return the controller that keeps the EndpointSlices of services, ready to be added to `manager`."""
    services = manager.lister(SERVICES, Service)

    def of_pod(delta: Delta) -> Iterable[Request]:
        """Return the services that select a pod as it is or as it was."""
        labels = [labels_of(each) for each in (delta.old, delta.new) if each is not None]
        for each in services.list(delta.key.namespace):
            wanted = (each.spec.selector or {}).items()
            if wanted and any(wanted <= one.items() for one in labels):
                yield ObjectKey(each.metadata.name, delta.key.namespace)

    def of_slice(delta: Delta) -> Iterable[Request]:
        found = {labels_of(each).get(SERVICE_NAME, "") for each in (delta.old, delta.new) if each is not None}
        return [ObjectKey(name, delta.key.namespace) for name in sorted(found) if name]

    listers = services, manager.lister(PODS, AddressedPod), manager.lister(NODES, Node)
    reconciler = EndpointSlices(
        *listers, manager.lister(ENDPOINT_SLICES, Slice), manager.client, OwnWrites(manager.host)
    )
    controller = Controller(NAME, reconciler, workers=workers).watch(SERVICES)
    return controller.watch(PODS, map=of_pod).watch(ENDPOINT_SLICES, map=of_slice)
