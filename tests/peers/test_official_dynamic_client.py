# SPDX-License-Identifier: Apache-2.0
"""The official dynamic client against the embedded server: it finds the kinds by discovery."""

from __future__ import annotations

from pathlib import Path

import kubernetes
from kubernetes.dynamic import DynamicClient


def test_a_round_trip_of_a_lease(kubeconfig: Path) -> None:
    client = DynamicClient(kubernetes.config.new_client_from_config(str(kubeconfig)))
    leases = client.resources.get(api_version="coordination.k8s.io/v1", kind="Lease")
    body = {"metadata": {"name": "dynamic"}, "spec": {"holderIdentity": "a"}}

    created = leases.create(body=body, namespace="default")
    read = leases.get(name="dynamic", namespace="default")
    assert read.metadata.uid == created.metadata.uid
    assert [lease.metadata.name for lease in leases.get(namespace="default").items] == ["dynamic"]
    patch = {"spec": {"holderIdentity": "b"}}
    leases.patch(body=patch, name="dynamic", namespace="default", content_type="application/merge-patch+json")
    leases.delete(name="dynamic", namespace="default")
    seen = leases.watch(namespace="default", resource_version=created.metadata.resourceVersion, timeout=1)

    assert [(event["type"], event["object"].spec.holderIdentity) for event in seen] == [
        ("MODIFIED", "b"),
        ("DELETED", "b"),
    ]
    client.client.close()
