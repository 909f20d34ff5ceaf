# SPDX-License-Identifier: Apache-2.0
"""The rights that a stream to a pod needs: `get` for the WebSocket, and `create` since Kubernetes 1.35."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kit.apiserver.talking import Talking

from controller_runtime.client.impersonating import ImpersonatingTransport
from controller_runtime.testing.simulation import Simulation

ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"


def talking_as(sim: Simulation, verbs: list[str], release: str) -> Talking:
    talking = Talking(sim.host("server"), release=release)
    talking.server.programs["c"] = lambda process: 0
    rule: dict[str, Any] = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": verbs}
    talking.asking.ok("POST", ROLES, {"metadata": {"name": "r"}, "rules": [rule]})
    subject = {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    binding = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]}
    talking.asking.ok("POST", ROLES.replace("roles", "rolebindings"), binding)
    talking.transport = ImpersonatingTransport(talking.transport, "u")  # type: ignore[assignment]
    return talking


@pytest.mark.parametrize(
    ("release", "verbs", "status"),
    [
        ("1.36", ["get", "create"], 101),
        ("1.36", ["create"], 403),
        ("1.36", ["get"], 403),
        ("1.34", ["get"], 101),
    ],
)
def test_a_websocket_needs_these_verbs(sim: Simulation, release: str, verbs: list[str], status: int) -> None:
    assert talking_as(sim, verbs, release).exec("x").response.status == status


def test_the_refusal_names_the_pod(sim: Simulation) -> None:
    answer = talking_as(sim, ["get"], "1.35").exec("x").response

    assert json.loads(answer.body)["message"] == 'pods "p" is forbidden: '
