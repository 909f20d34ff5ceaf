# SPDX-License-Identifier: Apache-2.0
"""The constants of built-in kinds have the paths, scopes and models that Kubernetes gives them."""

from __future__ import annotations

import inspect
import re
from typing import Any

import kubernetes.client
import pytest

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
                if method.startswith("_read_") and method.endswith("_serialize"):
                    found |= set(re.findall(r"resource_path='([^']+)'", inspect.getsource(function)))
    return found


@pytest.fixture(scope="module")
def paths() -> set[str]:
    return paths_of_the_official_client()


@pytest.mark.parametrize("name", CONSTANTS)
def test_the_path_and_the_scope_are_those_of_the_official_client(name: str, paths: set[str]) -> None:
    resource = CONSTANTS[name]

    path = resource.path("{namespace}" if resource.namespaced else "", "{name}")

    assert path in paths


@pytest.mark.parametrize("name", CONSTANTS)
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
