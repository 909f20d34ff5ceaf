# SPDX-License-Identifier: Apache-2.0
"""The difference of one object is what a person would call one."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery.objects import ObjectKey
from controller_runtime.core.resource_paths import resource_path
from controller_runtime.planning.difference import PlannedAction, PlannedDifference, difference_of
from controller_runtime.planning.overlay import PlannedObject, Work


def planned(live: Any, state: Any, path: str = "/api/v1/namespaces/web/configmaps/a", **more: Any) -> PlannedObject:
    target = resource_path(path)
    assert target is not None
    return PlannedObject(target, live, state, works=(Work("c", ObjectKey("a", "web")),), **more)


def found(live: Any, state: Any, **more: Any) -> PlannedDifference:
    difference = difference_of(planned(live, state, **more))
    assert difference is not None
    return difference


def config_map(**more: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "web", "uid": "u", "resourceVersion": "1", **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def test_a_change_is_a_unified_difference_of_yaml_with_the_places_as_names() -> None:
    difference = found(config_map(data={"a": "1", "b": "2"}), config_map(data={"a": "1", "b": "3"}))

    assert difference.text() == (
        "--- LIVE/v1.ConfigMap.web.a\n"
        "+++ PLAN/v1.ConfigMap.web.a\n"
        "@@ -1,7 +1,7 @@\n"
        " apiVersion: v1\n"
        " data:\n"
        "   a: '1'\n"
        "-  b: '2'\n"
        "+  b: '3'\n"
        " kind: ConfigMap\n"
        " metadata:\n"
        "   name: a"
    )


@pytest.mark.parametrize(
    ("live", "state"),
    [
        pytest.param(
            config_map(metadata={"generation": 1}),
            config_map(metadata={"generation": 2, "managedFields": []}),
            id="noise",
        ),
        pytest.param(
            config_map(status={"at": "2026-01-01T00:00:00Z"}),
            config_map(status={"at": "2026-01-01T00:00:09.5+00:00"}),
            id="a time",
        ),
        pytest.param(
            config_map(status={"c": [{"type": "x", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}),
            config_map(status={"c": [{"type": "x", "lastHeartbeatTime": "2026-01-01T00:01:00Z"}]}),
            id="a time in a list",
        ),
        pytest.param(None, None, id="made and deleted"),
    ],
)
def test_noise_is_no_difference(live: Any, state: Any) -> None:
    assert difference_of(planned(live, state)) is None


def test_an_event_is_no_difference() -> None:
    assert difference_of(planned(None, config_map(), path="/api/v1/namespaces/web/events/a")) is None


def test_a_time_that_comes_or_goes_is_a_difference() -> None:
    difference = found(config_map(status={}), config_map(status={"at": "2026-01-01T00:00:00Z"}))

    assert "+  at: '2026-01-01T00:00:00Z'" in difference.text()


@pytest.mark.parametrize(
    ("live", "state", "action"),
    [
        (None, config_map(), PlannedAction.CREATE),
        (config_map(), None, PlannedAction.DELETE),
        (config_map(), config_map(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), PlannedAction.DELETE),
        (
            config_map(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            config_map(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}, data={"a": "b"}),
            PlannedAction.UPDATE,
        ),
    ],
)
def test_an_object_is_created_updated_or_deleted(live: Any, state: Any, action: PlannedAction) -> None:
    assert found(live, state).action is action


def test_a_generated_name_is_shown_as_one() -> None:
    difference = found(None, config_map(), generate_name="run-")

    assert difference.name == "run-*"
    assert "name: run-*" in difference.text()


def secret(data: dict[str, str], **more: Any) -> dict[str, Any]:
    return {**config_map(**more), "kind": "Secret", "data": data}


def test_no_value_of_a_secret_is_shown_and_a_change_is_seen() -> None:
    applied = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"old":"c2VjcmV0"}}'}}
    difference = found(
        secret({"same": "c2FtZQ==", "old": "c2VjcmV0", "pw": "YmVmb3Jl"}, metadata=applied),
        {
            **secret({"same": "c2FtZQ==", "new": "bmV3", "pw": "YWZ0ZXI="}, metadata=applied),
            "stringData": {"x": "plain"},
        },
        path="/api/v1/namespaces/web/secrets/a",
    )

    text = difference.text()
    for value in ("c2FtZQ==", "c2VjcmV0", "YmVmb3Jl", "bmV3", "YWZ0ZXI=", "plain"):
        assert value not in f"{text}{difference.before}{difference.after}"
    assert "-  pw: '*** (before)'\n" in text
    assert "+  pw: '*** (after)'\n" in text
    assert "-  old: '***'\n" in text
    assert "+  new: '***'\n" in text
    assert "   same: '***'\n" in text
