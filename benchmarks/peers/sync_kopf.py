# SPDX-License-Identifier: Apache-2.0
"""The nodes into an index of kopf's, its kind of cache: KUBECONFIG COUNT CPU-SECONDS."""

from __future__ import annotations

import asyncio
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

    async def run() -> None:
        def by_name(name: str, **_: object) -> dict[str, str]:
            seen.add(name)
            return {name: name}

        kopf.index("nodes")(by_name)
        with metered(figures):
            operator = asyncio.create_task(kopf.operator(clusterwide=True, standalone=True))
            while len(seen) < count and time.process_time() < limit:  # noqa: ASYNC110  # no event comes of a clock
                await asyncio.sleep(0.05)
        report({**figures, "objects": len(seen)})
        assert not operator.done(), operator.exception()
        os._exit(0)  # it may take long to end

    asyncio.run(run())


if __name__ == "__main__":
    main()
