# SPDX-License-Identifier: Apache-2.0
"""A list of the nodes with kr8s, which has no informer: KUBECONFIG COUNT."""

from __future__ import annotations

import sys

import kr8s

from benchmarks.harness import metered, report


def main() -> None:
    """List once, and print the figures."""
    count, figures = int(sys.argv[2]), dict[str, float]()
    with metered(figures):
        nodes = {node.name: node for node in kr8s.api(kubeconfig=sys.argv[1]).get("nodes")}
    assert len(nodes) == count, len(nodes)
    report(figures)


if __name__ == "__main__":
    main()
