# SPDX-License-Identifier: Apache-2.0
"""Values of Secrets: found in every encoding, replaced by stand-ins of the same length, and kept nowhere."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.incidents.recording import acting, recorded

from apimachinery.errors import TerminalError
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS, SECRETS
from controller_runtime.controller.reconciler import Request
from controller_runtime.incidents.finished import Kept
from controller_runtime.incidents.options import Incidents
from controller_runtime.incidents.standins import SHORTEST, StandIns, values_in, without_tokens
from controller_runtime.manager.manager import Manager

log = get_logger(__name__)

VALUES = st.binary(min_size=SHORTEST, max_size=40)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=SHORTEST, max_size=30)

ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "raw": lambda value: value,
    "base64": base64.b64encode,
    "base64 within": lambda value: base64.b64encode(b"user:" + value + b"@host"),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(b"x" + value),
    "URL": lambda value: quote(value, safe="").encode(),
    "URL with slashes": lambda value: quote(value).encode(),
    "form": lambda value: quote_plus(value).encode(),
    "JSON": lambda value: json.dumps(value.decode()).encode(),
    "JSON in JSON": lambda value: json.dumps(json.dumps({"password": value.decode()})).encode(),
    "Python": lambda value: repr(value.decode()).encode(),
}


@settings(max_examples=25)
@given(value=TEXTS)
def test_a_value_is_replaced_in_each_encoding_by_one_of_its_length(value: str) -> None:
    secret = value.encode()
    stand_ins = StandIns([secret])
    stand_in = stand_ins.replaced(secret)

    assert len(stand_in) == len(secret)
    assert stand_in != secret or set(secret) <= {*b"secret0!"}
    for name, encode in ENCODINGS.items():
        assert encode(secret) not in stand_ins.replaced(b"<" + encode(secret) + b">") or stand_in == secret, name


@settings(max_examples=50)
@given(before=st.binary(max_size=4), value=VALUES, after=st.binary(max_size=4))
def test_a_value_within_base64_is_replaced_as_if_its_stand_in_had_been_encoded(
    before: bytes, value: bytes, after: bytes
) -> None:
    stand_ins = StandIns([value])
    replaced = base64.b64decode(stand_ins.replaced(base64.b64encode(before + value + after)))

    assert replaced == before + stand_ins.replaced(value) + after or value in (before + value + after)[1:]


@settings(max_examples=25)
@given(value=VALUES)
def test_a_stand_in_has_the_same_length_in_base64_and_in_a_url(value: bytes) -> None:
    stand_ins = StandIns([value])
    for encoded in (base64.b64encode(value), quote(value, safe="").encode()):
        assert len(stand_ins.replaced(encoded)) == len(encoded)


def test_equal_values_have_equal_stand_ins_and_others_others() -> None:
    stand_ins = StandIns([b"first-value", b"other-value"])

    assert stand_ins.replaced(b"first-value first-value other-value") == b"secret1-ecr secret1-ecr secret0-ecr".replace(
        b"secret1-ecr", stand_ins.replaced(b"first-value")
    ).replace(b"secret0-ecr", stand_ins.replaced(b"other-value"))
    assert stand_ins.replaced(b"first-value") != stand_ins.replaced(b"other-value")


def test_a_value_that_contains_another_is_replaced_as_a_whole() -> None:
    replaced = StandIns([b"abcdefghi", b"abcdefghi-longer"]).replaced(b"abcdefghi-longer abcdefghi")

    assert b"longer" not in replaced
    assert b"abcdefghi" not in replaced


def test_a_value_of_eight_bytes_is_left_alone() -> None:
    assert StandIns([b"12345678"]).replaced(b"12345678") == b"12345678"
    assert StandIns([b"123456789"]).replaced(b"123456789") != b"123456789"


@pytest.mark.parametrize(
    ("document", "values"),
    [
        ({"data": {"p": base64.b64encode(b"value").decode()}}, [b"value"]),
        ({"stringData": {"p": "value"}}, [b"value"]),
        ({"items": [{"data": {"p": "dmFsdWU="}}]}, [b"value"]),
        ([{"op": "add", "path": "/data/p", "value": "dmFsdWU="}], [b"value"]),
        ([{"op": "add", "path": "/stringData", "value": {"p": "value"}}], [b"value"]),
        ({"status": {"token": "value"}}, [b"value"]),
        ({"spec": {"token": "value"}}, [b"value"]),
        (
            {
                "metadata": {
                    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"p":"dmFsdWU="}}'}
                }
            },
            [b"value"],
        ),
        ({"data": ["dmFsdWU="], "metadata": "x"}, []),
        ("text", []),
    ],
    ids=["data", "texts", "a list", "a patch", "a patch of all", "a request", "a review", "kubectl", "broken", "text"],
)
def test_where_values_are_found(document: Any, values: list[bytes]) -> None:
    assert [*values_in(document)] == values


@pytest.mark.parametrize(
    "text",
    [
        b"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl",
        b"Authorization: Bearer abcdef.123456-opaque",
    ],
    ids=["JWT", "bearer"],
)
def test_tokens_are_replaced_wherever_they_stand(text: bytes) -> None:
    replaced = without_tokens(b"<" + text + b">")

    assert len(replaced) == len(text) + 2
    assert b"eyJ" not in replaced
    assert b"opaque" not in replaced


# A reconcile that meets Secrets.

PASSWORD = 'correct horse "battery" & staple/ä'


def meeting(manager: Manager, request: Request) -> None:
    secret = manager.lister(SECRETS, dict, namespace="default").get(ObjectKey("s", "default"))
    assert secret is not None
    value = base64.b64decode(secret["data"]["password"]).decode()
    basic = base64.b64encode(f"user:{value}".encode()).decode()
    url = f"postgres://user:{quote(value, safe='')}@db/x"
    log.warning("connecting", url=url, basic=basic, value=value)
    manager.client.patch(CONFIG_MAPS, request, {"data": {"url": url, "basic": basic, "raw": value}})
    manager.client.get(CONFIG_MAPS, request)
    raise TerminalError(f"{'x' * 985}{value} is no good{'y' * 3000}: {url} {basic}")


def records(act: Any, folder: Path | None = None, confidential: Any = None) -> tuple[list[Kept], bytes]:
    """Return what is kept of a reconcile that meets a Secret, and everything that was kept of it, as bytes."""

    def setup(manager: Manager) -> None:
        manager.lister(SECRETS, dict, namespace="default")
        acting(act)(manager)

    with recorded(setup, Incidents(folder=folder, confidential=confidential)) as recording:
        recording.user.create(
            SECRETS, {"metadata": {"name": "s", "namespace": "default"}, "stringData": {"password": PASSWORD}}
        )
        recording.create()
        kept = recording.recorder.all()
        raw = b"".join(repr(each).encode() + (each.file() or b"") for each in kept)
    return kept, raw + b"".join(path.read_bytes() for path in sorted((folder or Path("/nowhere")).glob("*")))


def test_no_value_of_a_secret_is_kept_in_any_encoding(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    kept, raw = records(meeting)

    assert [each.outcome for each in kept] == ["terminal_error"] * len(kept)
    assert all(each.incident().lines for each in kept)
    text = raw.decode()
    for form in (PASSWORD, "battery", "staple", "correct", base64.b64encode(PASSWORD.encode()).decode()[4:-4]):
        assert form not in text
    assert quote(PASSWORD, safe="") not in text
    assert base64.b64encode(f"user:{PASSWORD}".encode()).decode()[8:-4] not in text


def test_a_copy_of_a_value_stays_a_copy() -> None:
    kept, _ = records(meeting)
    incident = kept[-1].incident()
    (secret, *_) = [json.loads(bytes(body)) for body in incident.objects if b'"Secret"' in bytes(body)]
    stand_in = base64.b64decode(secret["data"]["password"]).decode()
    written = json.loads(bytes(incident.writes[0].body))["data"]

    assert len(stand_in.encode()) == len(PASSWORD.encode())
    assert written["raw"] == stand_in
    assert written["url"] == f"postgres://user:{quote(stand_in, safe='')}@db/x"
    assert base64.b64decode(written["basic"]).decode() == f"user:{stand_in}"


def test_values_that_a_function_of_the_user_names_are_replaced_as_well() -> None:
    def act(manager: Manager, request: Request) -> None:
        manager.lister(CONFIG_MAPS, dict, namespace="default").get(request)
        manager.client.patch(CONFIG_MAPS, request, {"data": {"key": "license-number-77"}})

    _, raw = records(act, confidential=lambda obj: obj.get("data", {}).values())

    assert b"license-number-77" not in raw
    assert b"secret" in raw


def test_nothing_is_kept_if_that_function_fails(caplog: pytest.LogCaptureFixture) -> None:
    kept, _ = records(
        lambda manager, request: manager.lister(CONFIG_MAPS, dict, namespace="default").get(request) and None,
        confidential=lambda obj: 1 / 0,
    )

    assert kept == []
    assert "reconcile not kept" in caplog.text


def test_a_secret_that_was_only_written_is_replaced_too() -> None:
    def act(manager: Manager, request: Request) -> None:
        made = {"metadata": {"name": "t", "namespace": "default"}, "stringData": {"password": "made-up-by-us"}}
        manager.client.apply(SECRETS, made, field_manager="maps")

    _, raw = records(act)

    assert b"made-up-by-us" not in raw
    assert base64.b64encode(b"made-up-by-us") not in raw
