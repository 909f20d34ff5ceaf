# SPDX-License-Identifier: Apache-2.0
"""Keeps topics of a broker, whose HTTP API is at BROKER_URL, as kopf's own pages show handlers."""

import os
from typing import Any

import httpx
import kopf

broker = httpx.Client(base_url=os.environ["BROKER_URL"], timeout=3)


@kopf.on.create("topics", backoff=1)
@kopf.on.update("topics", backoff=1)
def put(name: str, spec: kopf.Spec, **_: Any) -> None:
    broker.put(f"/topics/{name}", json={"partitions": spec["partitions"]}).raise_for_status()


@kopf.on.delete("topics", backoff=1)
def delete(name: str, logger: kopf.Logger, **_: Any) -> None:
    try:
        broker.delete(f"/topics/{name}")
    except httpx.TransportError as error:
        logger.warning("the topic may be left: %s", error)
