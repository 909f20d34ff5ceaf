# SPDX-License-Identifier: Apache-2.0
"""A list of the nodes with lightkube, which has no informer: KUBECONFIG COUNT."""

from __future__ import annotations

import sys

from lightkube import Client, KubeConfig
from lightkube.resources.core_v1 import Node

from benchmarks.harness import metered, report


def main() -> None:
    """List once, and print the figures."""
    client, count, figures = Client(config=KubeConfig.from_file(sys.argv[1])), int(sys.argv[2]), dict[str, float]()
    with metered(figures):
        nodes = {node.metadata.name: node for node in client.list(Node) if node.metadata}
    assert len(nodes) == count, len(nodes)
    report(figures)


if __name__ == "__main__":
    main()
