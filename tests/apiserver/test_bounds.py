# SPDX-License-Identifier: Apache-2.0
"""The limit to the number of values in a request, and the limits in the guide."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml
from kit.apiserver.asking import JSON_PATCH, MERGE, NODES, PODS, STRATEGIC, Asking, node
from kit.apiserver.config_maps import CONFIGS, config
from kit.apiserver.costs import seconds
from kit.apiserver.defining import WIDGETS, define, widget

from apimachinery.http import BODY_LIMIT
from embedded_apiserver.bounds import (
    MOST_SAID,
    MOST_STORED,
    MOST_TOLD,
    MOST_VALUES,
    values_in,
)
from embedded_apiserver.custom.work import MOST_CHECKS
from embedded_apiserver.typed import jsonpatch, yaml_reader

APPLY = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TOO_MANY = ",".join(["1"] * (MOST_VALUES + 1)).encode()

Object = dict[str, Any]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param(b"[" + b"1," * MOST_VALUES + b"1]", MOST_VALUES + 1, id="elements"),
        pytest.param(b'{"a":"' + b"[,{" * MOST_VALUES + b'"}', 1, id="a text is one value"),
        pytest.param(b'{"a":"' + rb"\",[" * MOST_VALUES + b'"}', 1, id="with quotes in it"),
        pytest.param(
            b'{"a":"' + rb"\\" * MOST_VALUES + b'","b":[' + b"[]," * MOST_VALUES + b"1]}", 2, id="backslashes"
        ),
        pytest.param(b"[" + b"{}," * (MOST_VALUES - 1) + b"[]]", MOST_VALUES, id="what is empty holds nothing"),
    ],
)
def test_the_values_of_a_text_are_counted_before_it_is_read(text: bytes, values: int) -> None:
    assert min(values_in(text), MOST_VALUES + 1) == (values if values != 2 else MOST_VALUES + 1)


def test_a_text_that_does_not_end_is_looked_at_once() -> None:
    def text(length: int) -> bytes:
        return b"," * (MOST_VALUES + 1) + b'"' + rb"\"" * length

    assert seconds(lambda: values_in(text(400_000))) < 50 * seconds(lambda: values_in(text(40_000)))


@pytest.mark.parametrize(
    ("method", "path", "body", "media_type"),
    [
        pytest.param("POST", CONFIGS, b'{"x":[%b]}' % TOO_MANY, "application/json", id="json"),
        pytest.param("POST", CONFIGS, b"{x: [%b]}" % TOO_MANY, "application/yaml", id="yaml"),
        pytest.param(
            "POST",
            PODS,
            b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x80\xea\x30" + b"\x12\x00" * 400_000,
            PROTOBUF,
            id="protobuf",
        ),
        pytest.param("PATCH", f"{CONFIGS}/a", b'{"x":[%b]}' % TOO_MANY, MERGE, id="merge patch"),
        pytest.param("PATCH", f"{CONFIGS}/a", b'{"x":[%b]}' % TOO_MANY, STRATEGIC, id="strategic merge patch"),
        pytest.param("PATCH", f"{CONFIGS}/a", b"[%b]" % TOO_MANY, JSON_PATCH, id="json patch"),
        pytest.param("PATCH", f"{CONFIGS}/a", b'{"x":[%b]}' % TOO_MANY, APPLY, id="apply"),
        pytest.param("DELETE", f"{CONFIGS}/a", b'{"dryRun":[%b]}' % TOO_MANY, "application/json", id="delete options"),
    ],
)
def test_more_values_than_a_server_looks_at_are_refused(
    method: str, path: str, body: bytes, media_type: str, ask: Asking
) -> None:
    ask.ok("POST", CONFIGS, config())

    status, refused = ask(method, path, body, headers={"content-type": media_type}, fieldManager="m")

    text = f"Request entity too large: limit is {MOST_VALUES} values"
    assert (status, refused["reason"], refused["message"]) == (413, "RequestEntityTooLarge", text)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (b"{a: 1, b: 2, c: 3, d: 4}", True),
        (b"{a: 1, b: 2, c: 3, d: 4, e: 5}", False),
        (b"{a: [1, 2, 3]}", True),
        (b"{a: [1, 2, 3, 4]}", False),
        (b"{a: {b: 1}, c: {}}", True),
        (b"[1, 2, 3, 4]", True),
        (b"[1, 2, [], {}, 5]", False),
    ],
)
def test_names_in_yaml_are_no_values(text: bytes, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reader, "MOST_VALUES", 4)

    with nullcontext() if fits else pytest.raises(yaml_reader.TooManyValues):
        yaml_reader.from_yaml(text)


def test_many_values_deep_in_an_object_are_refused(ask: Asking) -> None:
    """The owner of each value is recorded by its path, so the cost grows with the sum of the paths' lengths."""
    define(ask)
    deep: Object = {f"{index}": 1 for index in range(20_000)}
    for _ in range(150):
        deep = {"a": deep}

    assert ask("POST", WIDGETS, widget(spec=deep))[0] == 413


def test_what_is_stored_can_be_sent_back(ask: Asking) -> None:
    """The fields of a stored object and its managedFields have together at most as many values as a body may have."""
    half = MOST_VALUES // 2

    refused = ask("POST", CONFIGS, config("much", data={f"{index}": "" for index in range(half)}))
    made = ask.ok("POST", CONFIGS, config("less", data={f"{index}": "" for index in range(half - 100)}))

    assert refused[0] == 413
    assert ask.ok("PUT", f"{CONFIGS}/less", made) == made


def test_an_object_that_cannot_be_sent_back_for_its_size_is_not_stored(ask: Asking) -> None:
    ask.ok("POST", NODES, node("n"))
    path = f"{NODES}/n/status"
    images = [{"names": ["x" * 2_000_000]}]

    assert ask.patch(path, {"status": {"images": images}})[0] == 200
    status, refused = ask.patch(path, [{"op": "add", "path": "/status/images/-", "value": images[0]}], JSON_PATCH)

    assert (status, refused["message"]) == (500, "etcdserver: request is too large")


def test_copies_hold_no_more_values_than_a_body(ask: Asking) -> None:
    ask.ok("POST", CONFIGS, config())
    copies = [{"op": "copy", "from": "/x", "path": f"/x{index}"} for index in range(100)]

    assert ask.patch(f"{CONFIGS}/a", [{"op": "add", "path": "/x", "value": [[]] * 1000}, *copies], JSON_PATCH)[0] == 422


def test_an_answer_in_yaml_of_very_many_values_is_written_as_json(ask: Asking) -> None:
    """JSON takes a hundredth of the time to write, and a client that reads YAML can read it."""
    made = ask.ok("POST", CONFIGS, config(data={f"k{index}": f"{index}" for index in range(MOST_VALUES // 4 + 100)}))

    answer = ask.response("GET", f"{CONFIGS}/a", headers={"accept": "application/yaml"})

    assert answer.headers["content-type"] == "application/yaml"
    assert answer.body.startswith(b'{"kind":"ConfigMap"')
    assert yaml.load(answer.body, Loader=yaml.CSafeLoader) == made


def test_the_guide_tells_the_numbers() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "embedded-server.md").read_text()
    section = guide.partition("## Limits\n")[2].partition("\n## ")[0]
    told = {
        "body of a request": f"{BODY_LIMIT >> 20} MiB",
        "values in a body": f"{MOST_VALUES:,}",
        "stored object": f"{MOST_STORED >> 20} MiB of JSON and {MOST_VALUES:,} values",
        "copies by a JSON patch": f"{jsonpatch.MAX_COPIED >> 20} MiB and {MOST_VALUES:,} values",
        "checks of one object": f"{MOST_CHECKS:,}",
    }
    rows = [[cell.strip() for cell in row.split("|")[1:3]] for row in section.splitlines() if row.startswith("| ")]
    for start, limit in told.items():
        assert [cells[1] for cells in rows if cells[0].startswith(start)] == [limit], start
    assert f"at most {MOST_TOLD} causes and {MOST_SAID >> 10} KiB of them" in section
