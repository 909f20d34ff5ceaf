# SPDX-License-Identifier: Apache-2.0
"""The paths of OpenAPI, compared with those that a real server describes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from embedded_apiserver.discovery.openapi import OpenAPI
from embedded_apiserver.groups.all import KINDS

FILE = Path(__file__).parents[1] / "data" / "recordings" / "openapi-paths-1.36.2.json.gz"
RECORDED: dict[str, dict[str, dict[str, str]]] = json.loads(gzip.decompress(FILE.read_bytes()))
OPENAPI = OpenAPI()


def operations(document: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the name of each operation by its path and method."""
    return {
        path: {method: one["operationId"] for method, one in item.items() if method != "parameters"}
        for path, item in document["paths"].items()
    }


@pytest.mark.parametrize("name", RECORDED)
def test_a_group_version_has_the_operations_of_a_real_server(name: str) -> None:
    found = OPENAPI.find(KINDS, f"/openapi/v3/{name}")

    assert found is not None
    assert operations(json.loads(gzip.decompress(found.packed))) == RECORDED[name]
