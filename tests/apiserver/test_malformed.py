# SPDX-License-Identifier: Apache-2.0
"""Malformed requests that once made the server fail: found at random, then reduced to their cause."""

from __future__ import annotations

import logging
from base64 import b64encode
from typing import Any

import pytest
from kit.apiserver.asking import LEASES, NODES, PODS, STRATEGIC, Asking, lease, node, pod

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

CONFIGS = "/api/v1/namespaces/default/configmaps"
APPLY = "application/apply-patch+yaml"
YAML = {"content-type": "application/yaml"}
MANY = 8_000
DEEP = b'{"a":' * 50_000 + b"1" + b"}" * 50_000


@pytest.fixture(autouse=True)
def nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Any:
    """A client's fault is not logged as a failure of the server."""
    yield
    assert [record for record in caplog.get_records("call") if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("version", ["9" * 5000, "9" * 20, "-1", "\u0661", " 1", "1_000"])
def test_a_version_is_a_number_of_64_bits(version: str, ask: Asking) -> None:
    status, refused = ask("GET", LEASES, resourceVersion=version)

    assert (status, refused["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize("limit", ["9" * 5000, "9" * 20, "\u0661", " 1", "1_000", "1e3"])
def test_a_limit_is_a_number_of_64_bits(limit: str, ask: Asking) -> None:
    status, refused = ask("GET", LEASES, limit=limit)

    assert (status, refused["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("path", "query"),
    [
        pytest.param(f"{LEASES}/\udc80", {}, id="name"),
        pytest.param(LEASES, {"fieldValidation": "\ud800"}, id="quoted in the refusal"),
        pytest.param(LEASES, {"fieldManager": "\ud800"}, id="measured"),
    ],
)
def test_half_a_surrogate_pair_is_refused(path: str, query: dict[str, str], ask: Asking) -> None:
    status, refused = ask("GET" if path != LEASES else "POST", path, lease("a"), **query)

    assert (status, refused["reason"]) == (400, "BadRequest")


def test_a_token_that_is_no_text_is_a_wrong_token(sim: Simulation) -> None:
    server = APIServer(sim.host("server"), token="secret")

    answer = server.handle(HTTPRequest("GET", NODES, (), {"authorization": "Bearer \udcff"}))

    assert isinstance(answer, HTTPResponse)
    assert answer.status == 401
    server.close()


@pytest.mark.parametrize(
    ("method", "path", "query", "body"),
    [
        pytest.param("GET", LEASES, {"continue": b64encode(DEEP).decode()}, None, id="continue token"),
        pytest.param("POST", LEASES, {}, DEEP, id="object"),
        pytest.param("DELETE", f"{LEASES}/a", {}, DEEP, id="delete options"),
    ],
)
def test_what_is_nested_too_deeply_is_refused(
    method: str, path: str, query: dict[str, str], body: bytes | None, ask: Asking
) -> None:
    status, refused = ask(method, path, body, **query)

    assert (status, refused["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize("grace", [10**12, 2**62])
def test_a_grace_beyond_the_calendar_is_a_hundred_years(grace: int, ask: Asking) -> None:
    ask.ok("POST", PODS, pod("a", nodeName="n"))

    marked = ask.ok("DELETE", f"{PODS}/a", {"gracePeriodSeconds": grace})
    shortened = ask.ok("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 5})

    assert marked["metadata"]["deletionGracePeriodSeconds"] == 100 * 365 * 86400
    assert shortened["metadata"]["deletionGracePeriodSeconds"] == 5


def test_a_grace_of_more_than_64_bits_is_refused(ask: Asking) -> None:
    ask.ok("POST", PODS, pod("a", nodeName="n"))

    assert ask("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 10**30})[0] == 400


def test_bytes_that_are_null_are_empty(ask: Asking) -> None:
    made = ask.ok("POST", CONFIGS, {"metadata": {"name": "a"}, "binaryData": {"a": None}})

    assert made["binaryData"] == {"a": ""}


@pytest.mark.parametrize("name", ["x\r\nset-cookie: a=b", "\0", "\x85"])
def test_a_warning_that_no_header_can_hold_is_left_out(name: str, ask: Asking) -> None:
    answer = ask.response("POST", LEASES, {**lease("a"), name: 1, "y": 2})

    assert (answer.status, answer.headers["warning"]) == (201, '299 - "unknown field \\"y\\""')


def test_of_very_many_warnings_the_first_are_told(ask: Asking) -> None:
    answer = ask.response("POST", LEASES, {**lease("a"), **{f"{index}{'x' * 90}": index for index in range(10_000)}})

    told = answer.headers["warning"].split(", ")
    assert told[:2] == [f'299 - "unknown field \\"{index}{"x" * 90}\\""' for index in range(2)]
    assert 4096 < len(answer.headers["warning"]) < 8192


def test_a_very_long_warning_among_many_is_shortened(ask: Asking) -> None:
    answer = ask.response("POST", LEASES, {**lease("a"), "x" * 5000: 1, "y": 2})

    long, short = answer.headers["warning"].split(", ")
    assert (long[-5:], len(long)) == ('xxxx"', len('299 - ""') + 256 + 1)  # a quotation mark is escaped
    assert short == '299 - "unknown field \\"y\\""'


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"x: " + b"1" + b":59" * 1_000_000, id="a number of base 60"),
        pytest.param(b"x: !!int " + b"1" + b":59" * 1_000_000, id="a number of base 60, tagged"),
        pytest.param(b"[" * 3_000_000, id="flow lists"),
        pytest.param(b"- " * 1_500_000, id="block lists"),
        pytest.param(b"x: [" + b"[" * 100 + b"]" * 100 + b",\n[]" * 100_000 + b"]", id="many lists"),
        pytest.param(b"a: b\n" * 600_000, id="a name many times"),
        pytest.param(b"".join(b"a%d: b\n" % index for index in range(MANY)), id="many names"),
    ],
)
def test_yaml_takes_time_by_its_length_alone(body: bytes, ask: Asking) -> None:
    assert ask("POST", LEASES, body, headers=YAML)[0] in (400, 413, 422)


@pytest.mark.timeout(120)
def test_a_name_given_twice_among_many_is_found_in_time(ask: Asking) -> None:
    names = ",".join(f'"a{index}":"b"' for index in range(MANY))
    body = f'{{"metadata":{{"name":"a"}},"data":{{{names},"a0":"c"}}}}'

    status, refused = ask("POST", CONFIGS, body.encode(), fieldValidation="Strict")

    assert status == 400
    assert refused["message"].endswith('strict decoding error: duplicate field "data.a0"')


@pytest.mark.timeout(120)
def test_a_strategic_merge_of_a_long_list_takes_time_by_its_length(ask: Asking) -> None:
    ask.ok("POST", NODES, node("n"))
    conditions = [{"type": f"a{index}", "status": "True"} for index in range(MANY)]
    path = f"{NODES}/n/status"

    assert ask.patch(path, {"status": {"conditions": conditions}}, STRATEGIC)[0] == 200
    assert ask.patch(path, {"status": {"conditions": conditions[::-1]}}, STRATEGIC)[0] == 200


@pytest.mark.timeout(120)
def test_deleting_from_a_long_set_takes_time_by_its_length(ask: Asking) -> None:
    finalizers = [f"a/a{index}" for index in range(MANY)]
    ask.ok("POST", CONFIGS, {"metadata": {"name": "a", "finalizers": finalizers}})

    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": [*finalizers[::-1], {}, []]}}

    assert "finalizers" not in ask.patch(f"{CONFIGS}/a", patch, STRATEGIC)[1]["metadata"]


@pytest.mark.timeout(120)
def test_applying_a_long_list_in_another_order_takes_time_by_its_length(ask: Asking) -> None:
    finalizers = [f"a/a{index}" for index in range(MANY)]
    ask.ok("POST", CONFIGS, {"metadata": {"name": "a", "finalizers": finalizers}})
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": finalizers[::-1]}}

    status, applied = ask.patch(f"{CONFIGS}/a", config, APPLY, fieldManager="m")

    assert (status, applied["metadata"]["finalizers"]) == (200, finalizers[::-1])


@pytest.mark.timeout(120)
def test_addresses_of_a_node_are_compared_in_time(ask: Asking) -> None:
    addresses = [{"type": "Hostname", "address": f"a{index}"} for index in range(MANY)]

    ask.ok("POST", NODES, node("n"))
    status, refused = ask("PUT", f"{NODES}/n/status", node("n", status={"addresses": [*addresses, addresses[0]]}))

    assert (status, refused["details"]["causes"][0]["field"]) == (422, f"status.addresses[{MANY}]")


@pytest.mark.timeout(120)
def test_tolerations_of_a_pod_are_compared_in_time(ask: Asking) -> None:
    tolerations = [{"key": f"a{index}", "operator": "Exists"} for index in range(20_000)]
    made = ask.ok("POST", PODS, pod("a", tolerations=tolerations))

    made["spec"]["tolerations"].reverse()
    made = ask.ok("PUT", f"{PODS}/a", made)
    del made["spec"]["tolerations"][-1]

    assert ask("PUT", f"{PODS}/a", made)[0] == 422
