# SPDX-License-Identifier: Apache-2.0
"""Keeps a Service for each Deployment with the annotation `expose`, the port; by the official client's informer.

After https://github.com/kubernetes-client/python/tree/master/kubernetes/informer: a handler for each type of event.
"""

from __future__ import annotations

import threading

from kubernetes import client, config
from kubernetes.client import ApiException, V1Deployment
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer


def service_of(found: V1Deployment) -> dict[str, object]:
    port = int(found.metadata.annotations["expose"])
    return {
        "metadata": {"name": found.metadata.name},
        "spec": {"selector": found.spec.selector.match_labels, "ports": [{"port": port}]},
    }


def is_exposed(found: V1Deployment) -> bool:
    return "expose" in (found.metadata.annotations or {})


def added(found: V1Deployment) -> None:
    if is_exposed(found):
        try:
            client.CoreV1Api().create_namespaced_service(found.metadata.namespace, service_of(found))
        except ApiException as error:
            if error.status != 409:
                raise


def modified(found: V1Deployment) -> None:
    if is_exposed(found):
        ports = [{"port": int(found.metadata.annotations["expose"])}]
        body = [{"op": "replace", "path": "/spec/ports", "value": ports}]
        client.CoreV1Api().patch_namespaced_service(found.metadata.name, found.metadata.namespace, body)


def deleted(found: V1Deployment) -> None:
    if is_exposed(found):
        client.CoreV1Api().delete_namespaced_service(found.metadata.name, found.metadata.namespace)


def main() -> None:
    config.load_kube_config()
    informer = SharedInformer(client.AppsV1Api().list_deployment_for_all_namespaces)
    for kind, handler in ((ADDED, added), (MODIFIED, modified), (DELETED, deleted)):
        informer.add_event_handler(kind, handler)
    informer.start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
