# SPDX-License-Identifier: Apache-2.0
"""Initial sync of the nodes into an index of kopf, which is its kind of cache: KUBECONFIG COUNT CPU-SECONDS."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time

from benchmarks.harness import metered, report


def main() -> None:
    """Fill the index until all nodes are in it or the CPU is used up, and print the figures and the number of nodes."""
    os.environ["KUBECONFIG"] = sys.argv[1]
    import kopf  # after KUBECONFIG is set, which it reads once

    logging.disable(logging.CRITICAL)
    count, limit, figures, seen = int(sys.argv[2]), float(sys.argv[3]), dict[str, float](), set[str]()
    metering = contextlib.ExitStack()
    metering.enter_context(metered(figures))

    def by_name(name: str, **_: object) -> dict[str, str]:
        seen.add(name)
        if len(seen) == count or time.process_time() >= limit:
            metering.close()
            report({**figures, "objects": len(seen)})
            os._exit(0)  # a regular stop may take long
        return {name: name}

    kopf.index("nodes")(by_name)
    asyncio.run(kopf.operator(clusterwide=True, standalone=True))


if __name__ == "__main__":
    main()
