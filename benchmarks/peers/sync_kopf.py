# SPDX-License-Identifier: Apache-2.0
"""The nodes into an index of kopf's, its kind of cache: KUBECONFIG COUNT CPU-SECONDS."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time

from benchmarks.harness import metered, report


def main() -> None:
    """Wait for the index to fill, with so much CPU at most, and print the figures and how far it came."""
    os.environ["KUBECONFIG"] = sys.argv[1]
    import kopf  # it looks there once

    logging.disable(logging.CRITICAL)
    count, limit, figures, seen = int(sys.argv[2]), float(sys.argv[3]), dict[str, float](), set[str]()
    metering = contextlib.ExitStack()
    metering.enter_context(metered(figures))

    def by_name(name: str, **_: object) -> dict[str, str]:
        seen.add(name)
        if len(seen) == count or time.process_time() >= limit:
            metering.close()
            report({**figures, "objects": len(seen)})
            os._exit(0)  # it may take long to end
        return {name: name}

    kopf.index("nodes")(by_name)
    asyncio.run(kopf.operator(clusterwide=True, standalone=True))


if __name__ == "__main__":
    main()
