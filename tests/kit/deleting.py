# SPDX-License-Identifier: Apache-2.0
"""A cluster with config maps to delete, and its record of deletions."""

from __future__ import annotations

import json
from typing import Any

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS, SECRETS
from controller_runtime.client.client import Client
from controller_runtime.testing import EmbeddedCluster

RECORD = ObjectKey("shop-deletions", "default")


def secret(number: int) -> ObjectKey:
    return ObjectKey(f"s{number}", "default")


def make_secrets(user: Client, number: int, **metadata: Any) -> None:
    for each in range(number):
        user.create(SECRETS, {"metadata": {"name": secret(each).name, **metadata}}, "default")


def left(user: Client) -> int:
    return len(user.list(SECRETS, view=dict))


def record_of(user: Client) -> dict[str, Any]:
    found: dict[str, Any] = user.get(CONFIG_MAPS, RECORD, dict)
    return found


def used(user: Client, kind: str = "secrets") -> int:
    return sum(number for _, number, _, _ in json.loads(record_of(user)["data"][kind])["reserved"])


def sent(cluster: EmbeddedCluster, *methods: str) -> list[HTTPRequest]:
    return [each for each in cluster.transport.requests if each.method in (methods or ("DELETE",))]
