# SPDX-License-Identifier: Apache-2.0
"""A process of tests that a debugger stopped for ten minutes: its clocks jump, and its threads find all timers due."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from kubernetes import client, config, watch

import embedded_apiserver
from embedded_apiserver import KubernetesServer

STOPPED = 600.0


@pytest.fixture
def server() -> Iterator[KubernetesServer]:
    with embedded_apiserver.run() as running:
        yield running


@pytest.fixture
def core(server: KubernetesServer) -> Iterator[client.CoreV1Api]:
    configuration = client.Configuration()
    config.load_kube_config(str(server.kubeconfig), client_configuration=configuration)
    with client.ApiClient(configuration) as api:
        yield client.CoreV1Api(api)


def stop_for(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clocks of this process jump, as they do for one that was stopped."""
    for name in ("monotonic", "time"):
        real = getattr(time, name)
        monkeypatch.setattr(time, name, lambda real=real: real() + seconds)


def create(core: client.CoreV1Api, name: str) -> None:
    core.create_namespaced_config_map("default", {"metadata": {"name": name}})


def test_client_token_and_watch_go_on_after_ten_minutes(
    core: client.CoreV1Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(core, "before")
    follower = watch.Watch()
    with closing(follower.stream(core.list_namespaced_config_map, "default", timeout_seconds=3000)) as events:
        assert next(events)["object"].metadata.name == "before"

        stop_for(STOPPED, monkeypatch)

        create(core, "after")
        assert next(events)["object"].metadata.name == "after"
    assert [each.metadata.name for each in core.list_namespaced_config_map("default").items] == ["after", "before"]


def test_a_watch_from_before_the_stop_begins_where_it_was(
    core: client.CoreV1Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(core, "before")
    seen = core.list_namespaced_config_map("default").metadata.resource_version
    create(core, "missed")

    stop_for(STOPPED, monkeypatch)

    with closing(
        watch.Watch().stream(core.list_namespaced_config_map, "default", resource_version=seen, timeout_seconds=60)
    ) as events:
        assert next(events)["object"].metadata.name == "missed"
