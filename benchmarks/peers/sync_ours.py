# SPDX-License-Identifier: Apache-2.0
"""Initial sync of the nodes into our informer: KUBECONFIG COUNT."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.harness import metered, report
from controller_runtime.api.resources import NODES
from controller_runtime.core.stop import Stop
from controller_runtime.manager.manager import Manager


def main() -> None:
    """Sync once, and print the figures."""
    manager, count, figures = Manager.from_kubeconfig(Path(sys.argv[1])), int(sys.argv[2]), dict[str, float]()
    informer, stop = manager.informer(NODES), Stop(manager.host)
    with metered(figures):
        manager.informers.start(stop)
        manager.informers.wait_for_sync(stop, 120.0)
    assert len(informer.store) == count, len(informer.store)
    stop.set()
    report(figures)


if __name__ == "__main__":
    main()
