# SPDX-License-Identifier: Apache-2.0
"""Keeps a Deployment of workers for each Queue, and scales it as the Queue says; by kr8s.

After https://docs.kr8s.org/en/stable/object/#extending-the-objects-api and its examples of watches.
"""

from __future__ import annotations

import asyncio

import kr8s
from kr8s.asyncio.objects import Deployment, new_class

Queue = new_class("Queue", "example.com/v1", namespaced=True)


async def workers_of(queue: Queue) -> Deployment:
    labels = {"queue": queue.name}
    return await Deployment(
        {
            "metadata": {"name": queue.name, "namespace": queue.namespace},
            "spec": {
                "replicas": queue.spec["workers"],
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "worker", "image": "worker:1"}]},
                },
            },
        }
    )


async def main() -> None:
    api = await kr8s.asyncio.api()
    async for kind, queue in api.watch(Queue, namespace=kr8s.ALL):
        workers = await workers_of(queue)
        if kind == "ADDED" and not await workers.exists():
            await workers.create()
        elif kind == "MODIFIED":
            await workers.scale(queue.spec["workers"])
        elif kind == "DELETED":
            await workers.delete()


if __name__ == "__main__":
    asyncio.run(main())
