# SPDX-License-Identifier: Apache-2.0
"""Policies and webhooks annotate the lines of the audit log as on a real server, whose lines are recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.webhooks import ROOT, Called, configuration, hook, patches, says

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.audit import AuditedHandler
from embedded_apiserver.audit_annotations import annotate, collected
from embedded_apiserver.server import APIServer

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "policies" / "audit-1.36.json").read_text(encoding="utf-8"))
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NOTED = "mutation.webhook.admission.k8s.io/round_{}_index_{}"


class Audited:
    """A server with an audit log."""

    def __init__(self, sim: Simulation, path: Path, caller: Called | None = None) -> None:
        host = sim.host("server")
        self.path = path
        self.handler = AuditedHandler(host, APIServer(host, caller=caller), path)
        self.ask = Asking(self.handler)

    def annotations(self) -> dict[str, str]:
        """Return those of the last line."""
        found: dict[str, str] = json.loads(self.path.read_text().splitlines()[-1]).get("annotations", {})
        return found


@pytest.fixture
def audited(sim: Simulation, tmp_path: Path) -> Audited:
    return Audited(sim, tmp_path / "audit.log")


@pytest.mark.scenario("AW-10")
def test_policies_annotate_a_line_as_on_a_real_server(audited: Audited) -> None:
    for _, path, obj in RECORDED["before"]:
        audited.ask.ok("POST", path, obj)

    for each in RECORDED["writes"]:
        audited.ask.response("POST", CONFIG_MAPS, each["write"])
        assert audited.annotations() == each["annotations"], each["write"]["metadata"]["name"]


def test_a_line_without_annotations_has_no_such_field(audited: Audited) -> None:
    audited.ask.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})

    assert "annotations" not in json.loads(audited.path.read_text().splitlines()[-1])


@pytest.fixture
def called(sim: Simulation, tmp_path: Path) -> Audited:
    """A server with three mutating webhooks, the first called twice, and two validating ones; one each is absent."""
    add = {"op": "add", "path": "/data", "value": {"a": "b"}}
    webhooks = Called({"first": says(auditAnnotations={"seen": "yes"}), "adds": patches(add), "checks": says()})
    made = Audited(sim, tmp_path / "audit.log", webhooks)
    hooks = [hook("first", reinvocationPolicy="IfNeeded"), hook("gone", failurePolicy="Ignore"), hook("adds")]
    made.ask.ok("POST", f"{ROOT}/mutatingwebhookconfigurations", configuration("Mutating", *hooks))
    checks = [hook("checks"), hook("absent", failurePolicy="Ignore")]
    made.ask.ok("POST", f"{ROOT}/validatingwebhookconfigurations", configuration("Validating", *checks))
    return made


def value(name: str, mutated: str) -> str:
    return f'{{"configuration":"c","webhook":"{name}.hooks.example.com","mutated":{mutated}}}'


def test_a_line_tells_of_each_webhook_that_may_change_objects_and_of_those_that_failed_open(called: Audited) -> None:
    called.ask.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})

    assert called.annotations() == {
        "first.hooks.example.com/seen": "yes",
        NOTED.format(0, 0): value("first", "false"),
        NOTED.format(0, 1): value("gone", "false"),
        "failed-open." + NOTED.format(0, 1): "gone.hooks.example.com",
        NOTED.format(0, 2): value("adds", "true"),
        NOTED.format(1, 0): value("first", "false"),
        "failed-open.validating.webhook.admission.k8s.io/round_0_index_1": "absent.hooks.example.com",
    }


@pytest.mark.parametrize("key", ["none", "two/slashes/here", "a/b c", "/b"])
def test_a_key_that_is_none_is_left_out(key: str, caplog: pytest.LogCaptureFixture) -> None:
    with collected() as found:
        annotate(key, "x")

    assert found == {}
    assert "audit annotation left out" in caplog.text


def test_the_first_value_of_a_key_stays() -> None:
    with collected() as found:
        for text in ("a", "b"):
            annotate("example.com/note", text)

    assert found == {"example.com/note": "a"}


def test_without_a_log_nothing_is_kept() -> None:
    annotate("example.com/note", "a")
    with collected() as found:
        pass

    assert found == {}
