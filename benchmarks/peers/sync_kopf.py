# SPDX-License-Identifier: Apache-2.0
"""The nodes into an index of kopf's, its kind of cache: KUBECONFIG COUNT SECONDS."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys

from benchmarks.harness import metered, report


def main() -> None:
    """Wait for the index to fill, for so many seconds at most, and print the figures and how far it came."""
    os.environ["KUBECONFIG"] = sys.argv[1]
    import kopf  # it looks there once

    logging.disable(logging.CRITICAL)
    count, patience, figures, seen = int(sys.argv[2]), float(sys.argv[3]), dict[str, float](), set[str]()

    async def run() -> None:
        stop, full, loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()

        def by_name(name: str, **_: object) -> dict[str, str]:
            seen.add(name)
            if len(seen) == count:
                loop.call_soon_threadsafe(full.set)
            return {name: name}

        kopf.index("nodes")(by_name)
        with metered(figures), contextlib.suppress(TimeoutError):
            operator = asyncio.create_task(kopf.operator(clusterwide=True, standalone=True, stop_flag=stop))
            await asyncio.wait_for(full.wait(), patience)
        report({**figures, "objects": len(seen)})
        assert not operator.done(), operator.exception()
        os._exit(0)  # it may take long to end

    asyncio.run(run())


if __name__ == "__main__":
    main()
