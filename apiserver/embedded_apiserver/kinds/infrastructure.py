# SPDX-License-Identifier: Apache-2.0
"""The built-in kinds that describe a cluster and what runs beside it, as data: storage, devices, networks, requests.

The server does nothing about most of them: it stores, checks and shows their objects for the controllers, drivers and
kubelets that do. `docs/kinds.md` tells for each kind what the server does about it.
"""

from __future__ import annotations

from functools import partial

from embedded_apiserver.kinds.kind import Kind

_STATUS = ("status",)

COMPONENT_STATUS = Kind(
    group="",
    version="v1",
    kind="ComponentStatus",
    plural="componentstatuses",
    namespaced=False,
    short_names=("cs",),
    verbs=("get", "list"),
    deprecated=19,
    deprecation="v1 ComponentStatus is deprecated in v1.19+",
)
API_SERVICE = Kind(
    group="apiregistration.k8s.io",
    version="v1",
    kind="APIService",
    plural="apiservices",
    namespaced=False,
    categories=("api-extensions",),
    subresources=_STATUS,
    unconditional_update=False,
    name_rule="path",
)

AUTOSCALER = Kind(
    group="autoscaling",
    version="v2",
    kind="HorizontalPodAutoscaler",
    plural="horizontalpodautoscalers",
    short_names=("hpa",),
    categories=("all",),
    subresources=_STATUS,
)
# The same objects as `AUTOSCALER` with one metric in a field and the others in annotations; see `autoscaler.py` in
# `rules`.
OLD_AUTOSCALER = Kind(
    group="autoscaling",
    version="v1",
    kind="HorizontalPodAutoscaler",
    plural="horizontalpodautoscalers",
    short_names=("hpa",),
    categories=("all",),
    subresources=_STATUS,
    stored_as=AUTOSCALER,
)

SIGNING_REQUEST = Kind(
    group="certificates.k8s.io",
    version="v1",
    kind="CertificateSigningRequest",
    plural="certificatesigningrequests",
    namespaced=False,
    short_names=("csr",),
    subresources=("approval", "status"),
    name_rule="path",
    fields={"spec.signerName": ""},
    names_known_fields=False,
)

_network = partial(Kind, group="networking.k8s.io", version="v1", namespaced=False)
INGRESS_CLASS = _network(kind="IngressClass", plural="ingressclasses")
IP_ADDRESS = _network(kind="IPAddress", plural="ipaddresses", short_names=("ip",), name_rule="path", introduced=33)
NETWORK_POLICY = _network(kind="NetworkPolicy", plural="networkpolicies", namespaced=True, short_names=("netpol",))
SERVICE_CIDR = _network(kind="ServiceCIDR", plural="servicecidrs", subresources=_STATUS, introduced=33)

_storage = partial(Kind, group="storage.k8s.io", version="v1", namespaced=False)
CSI_DRIVER = _storage(
    kind="CSIDriver", plural="csidrivers", unconditional_update=False, deletes_with_object=True, name_rule="subdomain"
)
CSI_NODE = _storage(kind="CSINode", plural="csinodes", unconditional_update=False, deletes_with_object=True)
CSI_CAPACITY = _storage(
    kind="CSIStorageCapacity", plural="csistoragecapacities", namespaced=True, unconditional_update=False
)
STORAGE_CLASS = _storage(kind="StorageClass", plural="storageclasses", short_names=("sc",), deletes_with_object=True)
ATTACHMENT = _storage(
    kind="VolumeAttachment",
    plural="volumeattachments",
    subresources=_STATUS,
    unconditional_update=False,
    deletes_with_object=True,
)
ATTRIBUTES_CLASS = _storage(
    kind="VolumeAttributesClass",
    plural="volumeattributesclasses",
    short_names=("vac",),
    deletes_with_object=True,
    introduced=34,
)

PRIORITY_CLASS = Kind(
    group="scheduling.k8s.io",
    version="v1",
    kind="PriorityClass",
    plural="priorityclasses",
    namespaced=False,
    short_names=("pc",),
)
RUNTIME_CLASS = Kind(
    group="node.k8s.io",
    version="v1",
    kind="RuntimeClass",
    plural="runtimeclasses",
    namespaced=False,
    create_on_update=True,
    unconditional_update=False,
)
ENDPOINT_SLICE = Kind(group="discovery.k8s.io", version="v1", kind="EndpointSlice", plural="endpointslices")

_resource = partial(Kind, group="resource.k8s.io", version="v1", deletes_with_object=True, introduced=34)
DEVICE_CLASS = _resource(kind="DeviceClass", plural="deviceclasses", namespaced=False)
RESOURCE_CLAIM = _resource(kind="ResourceClaim", plural="resourceclaims", subresources=_STATUS)
RESOURCE_CLAIM_TEMPLATE = _resource(kind="ResourceClaimTemplate", plural="resourceclaimtemplates")
RESOURCE_SLICE = _resource(
    kind="ResourceSlice",
    plural="resourceslices",
    namespaced=False,
    fields={"spec.driver": "", "spec.nodeName": ""},
    names_known_fields=False,
)

_flow = partial(Kind, group="flowcontrol.apiserver.k8s.io", version="v1", namespaced=False, subresources=_STATUS)
FLOW_SCHEMA = _flow(kind="FlowSchema", plural="flowschemas")
PRIORITY_LEVEL = _flow(kind="PriorityLevelConfiguration", plural="prioritylevelconfigurations")
