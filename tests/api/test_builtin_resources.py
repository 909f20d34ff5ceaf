# SPDX-License-Identifier: Apache-2.0
"""The constants of built-in kinds have the paths, scopes and models that Kubernetes gives them."""

from __future__ import annotations

import inspect
import re
from typing import Any

import kubernetes.client
import pytest
from kit.official import since

from controller_runtime.api import builtin_resources, resources
from controller_runtime.api.resources import Resource
from embedded_apiserver.groups.all import KINDS

CONSTANTS: dict[str, Resource[Any]] = {
    name: value
    for module in (resources, builtin_resources)
    for name, value in vars(module).items()
    if isinstance(value, Resource)
}


def paths_of_the_official_client() -> set[str]:
    """The path of each object that the official client can read."""
    found = set()
    for name, api in inspect.getmembers(kubernetes.client, inspect.isclass):
        if name.endswith("Api"):
            for method, function in inspect.getmembers(api, inspect.isfunction):
                if re.fullmatch(r"_read_\w+_serialize|read_\w+_with_http_info", method):
                    # The path is a keyword of newer releases, and before the method in older ones.
                    texts = re.findall(r"resource_path='([^']+)'|'([^']+)', 'GET'", inspect.getsource(function))
                    found |= {newer or older for newer, older in texts}
    return found


@pytest.fixture(scope="module")
def paths() -> set[str]:
    return paths_of_the_official_client()


OFFICIAL = [
    pytest.param(name, marks=since(33, "V1beta1LeaseCandidate")) if name == "LEASE_CANDIDATES" else name
    for name in CONSTANTS
]


@pytest.mark.parametrize("name", OFFICIAL)
def test_the_path_and_the_scope_are_those_of_the_official_client(name: str, paths: set[str]) -> None:
    resource = CONSTANTS[name]

    path = resource.path("{namespace}" if resource.namespaced else "", "{name}")

    assert path in paths


@pytest.mark.parametrize("name", OFFICIAL)
def test_the_model_is_the_official_one_of_the_version(name: str) -> None:
    resource = CONSTANTS[name]

    model = resource.default_view()

    assert model is getattr(kubernetes.client, model.__name__)
    assert re.fullmatch(rf"(Core|Events)?{resource.version.capitalize()}{resource.kind}", model.__name__)


@pytest.mark.parametrize("name", CONSTANTS)
def test_the_constant_is_named_after_its_plural(name: str) -> None:
    assert name.removeprefix("CORE_").replace("_", "").lower() == CONSTANTS[name].plural


def test_a_kind_that_the_embedded_server_serves_is_the_same_there() -> None:
    served = {(kind.group, kind.version, kind.kind): kind for kind in KINDS}
    compared = 0

    for resource in CONSTANTS.values():
        kind = served.get((resource.group, resource.version, resource.kind))
        if kind is not None:
            compared += 1
            assert (kind.plural, kind.namespaced) == (resource.plural, resource.namespaced)

    assert compared > 20
