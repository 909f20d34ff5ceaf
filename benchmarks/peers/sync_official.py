# SPDX-License-Identifier: Apache-2.0
"""Initial sync of the nodes into the official client's informer: KUBECONFIG COUNT."""

from __future__ import annotations

import os
import sys
import threading

import kubernetes
from kubernetes.informer import ADDED, SharedInformer

from benchmarks.harness import metered, report


def main() -> None:
    """Sync once, and print the figures. The informer does not say when it has synced, so events are counted."""
    kubernetes.config.load_kube_config(sys.argv[1])
    count, figures = int(sys.argv[2]), dict[str, float]()
    seen, done = 0, threading.Event()

    def added(_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            done.set()

    informer = SharedInformer(list_func=kubernetes.client.CoreV1Api().list_node)
    informer.add_event_handler(ADDED, added)
    with metered(figures):
        informer.start()
        assert done.wait(900), seen
    report(figures)
    os._exit(0)  # its thread does not end by itself


if __name__ == "__main__":
    main()
