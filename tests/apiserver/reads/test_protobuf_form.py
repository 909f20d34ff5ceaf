# SPDX-License-Identifier: Apache-2.0
"""Answers in protobuf, compared with those of a real server to the same requests."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import LEASES, MERGE, NODES, PODS, Asking, lease, node, pod
from kit.apiserver.defining import WIDGETS, define, widget
from kit.apiserver.protobuf import frames, opened, without_zeros

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.answers import document
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.groups.core.kinds import NODE
from embedded_apiserver.groups.parts import SCALE
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.protobuf.envelope import MEDIA_TYPE, STREAM_TYPE, enveloped_document
from embedded_apiserver.protobuf.messages import DISCOVERY, META, schema_of
from embedded_apiserver.protobuf.reader import decode, decode_object
from embedded_apiserver.reads.forms import EventType
from embedded_apiserver.reads.protobuf_form import ProtobufForm, protobuf_form, protobuf_metadata
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History
from embedded_apiserver.storage.stored import Stored

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
RECORDED = {
    one["note"]: one
    for one in map(json.loads, (RECORDINGS / "protobuf-1.36.2.jsonl").read_text(encoding="utf-8").splitlines())
}
NEGOTIATED = [json.loads(line) for line in (RECORDINGS / "negotiation-1.36.2.jsonl").read_text().splitlines()]
STORED = [kind for kind in KINDS if kind.is_stored]
PARTIAL = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PROTOBUF = {"accept": MEDIA_TYPE}
LIST_OPTIONS = {"resourceVersion": 0, "continue": "", "remainingItemCount": None}


def names(kinds: list[Kind]) -> list[Any]:
    return [pytest.param(kind, id=f"{kind.plural}.{kind.group}") for kind in kinds]


def form_of(kind: Kind) -> ProtobufForm:
    """Return the form of objects whose JSON is the recorded one, so that they are not converted again."""
    form = protobuf_form(kind)
    assert form is not None
    if kind.stored_as is None:
        return form
    return ProtobufForm(kind.api_version, kind.kind, kind.list_kind, kind.schema.name, None)


def raw_of(obj: dict[str, Any]) -> bytes:
    """Return an object as it is stored."""
    return json.dumps({name: part for name, part in obj.items() if name not in ("kind", "apiVersion")}).encode()


def listed(form: ProtobufForm, answer: dict[str, Any]) -> bytes:
    """Return a list with the items and the metadata of a recorded one."""
    metadata = LIST_OPTIONS | answer["metadata"]
    items = [Stored("", 0, raw_of(item)) for item in answer["items"] or ()]
    return form.list(items, metadata["resourceVersion"], metadata["continue"], metadata["remainingItemCount"])


def body_of(note: str) -> bytes:
    return base64.b64decode(RECORDED[note]["protobuf"])


def note_of(verb: str, kind: Kind) -> str:
    """Return the note of a recording; where two versions of a kind are served, those that came later name theirs."""
    note = f"{verb}: {kind.plural}.{kind.group}"
    return (
        note
        if note in RECORDED and kind.stored_as is None
        else (f"{note}/{kind.version}" if f"{note}/{kind.version}" in RECORDED else note)
    )


@pytest.mark.parametrize("kind", names(STORED))
def test_an_object_has_the_bytes_of_a_real_server(kind: Kind) -> None:
    note = note_of("get", kind)

    assert form_of(kind).single(raw_of(RECORDED[note]["json"])) == body_of(note)


@pytest.mark.parametrize("kind", names(STORED))
def test_a_list_has_the_bytes_of_a_real_server(kind: Kind) -> None:
    note = note_of("list", kind)

    assert RECORDED[note]["json"]["items"]
    assert listed(form_of(kind), RECORDED[note]["json"]) == body_of(note)


@pytest.mark.parametrize(
    ("note", "form"),
    [
        ("page", protobuf_form(KINDS.find("", "v1", "namespaces") or NODE)),
        ("empty list", protobuf_form(KINDS.find("", "v1", "pods") or NODE)),
        ("metadata list", protobuf_metadata()),
        ("metadata list of custom objects", protobuf_metadata()),
    ],
)
def test_other_lists_have_the_bytes_of_a_real_server(note: str, form: ProtobufForm) -> None:
    assert listed(form, RECORDED[note]["json"]) == body_of(note)


@pytest.mark.parametrize(
    ("note", "form"),
    [
        ("scale", protobuf_form(SCALE)),
        ("metadata", protobuf_metadata()),
        ("metadata of a custom object", protobuf_metadata()),
    ],
)
def test_other_objects_have_the_bytes_of_a_real_server(note: str, form: ProtobufForm) -> None:
    assert form.single(raw_of(RECORDED[note]["json"])) == body_of(note)


@pytest.mark.parametrize(
    "note",
    [
        note
        for note, one in RECORDED.items()
        if "/nodes/none" in one["path"] or ("kind" in one["json"] and one["json"]["kind"] == "Status")
    ],
)
def test_a_refusal_has_the_bytes_of_a_real_server(note: str) -> None:
    assert RECORDED[note]["status"] >= 400
    assert document(RECORDED[note]["json"], MEDIA_TYPE).body == body_of(note)


@pytest.mark.parametrize("note", ["groups", "group", "versions", "resources", "resources of the core group"])
def test_a_document_of_discovery_has_the_bytes_of_a_real_server(note: str) -> None:
    assert document(RECORDED[note]["json"], MEDIA_TYPE).body == body_of(note)


@pytest.mark.parametrize("note", ["aggregated /api", "aggregated /apis"])
def test_aggregated_discovery_has_the_bytes_of_a_real_server(note: str) -> None:
    assert enveloped_document(RECORDED[note]["json"], DISCOVERY) == body_of(note)


@pytest.mark.parametrize("note", [note for note in RECORDED if note.startswith("watch")])
def test_a_watch_has_the_bytes_of_a_real_server(note: str) -> None:
    form = protobuf_metadata() if "metadata" in note else protobuf_form(NODE)
    assert form is not None

    stream = b"".join(shown(form, json.loads(line)) for line in RECORDED[note]["json"])

    assert stream == body_of(note)
    assert RECORDED[note]["contentType"] == form.stream_type


def shown(form: ProtobufForm, event: dict[str, Any]) -> bytes:
    """Return the frame of a recorded event."""
    obj = event["object"]
    if event["type"] == "ERROR":
        return form.error(obj)
    if event["type"] == "BOOKMARK":
        is_end = "annotations" in obj["metadata"]
        return form.bookmark(int(obj["metadata"]["resourceVersion"]), initial_end=is_end)
    return form.framed(EventType(event["type"]), raw_of(obj))


@pytest.fixture
def server(sim: Simulation) -> Iterator[APIServer]:
    """A server with the objects that the recorded requests name, and a history of one change."""
    serving = APIServer(sim.host("apiserver"), history=History(changes=1))
    ask = Asking(serving)
    define(ask)
    ask.ok("POST", WIDGETS, widget())
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    ask.ok("POST", "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "a"}, "spec": spec})
    yield serving
    serving.close()


@pytest.mark.parametrize("row", [pytest.param(row, id=row["path"]) for row in NEGOTIATED])
def test_the_form_is_negotiated_as_by_a_real_server(row: dict[str, Any], server: APIServer) -> None:
    path, _, query = row["path"].replace("/apis/example.com/v1/namespaces/default/widgets", WIDGETS).partition("?")
    pairs = tuple(tuple(pair.split("=")) for pair in query.split("&") if "resourceVersion" not in pair)
    found = {}
    for accept in row["answers"]:
        answer = server.handle(HTTPRequest("GET", path, pairs if query else (), {"accept": accept}), lambda: None)
        status, text = (answer.status, told(answer)) if isinstance(answer, HTTPResponse) else (200, None)
        found[accept] = [status, answer.headers["content-type"], text]
        if not isinstance(answer, HTTPResponse):
            answer.close()

    assert found == row["answers"]


def told(answer: HTTPResponse) -> str | None:
    """Return which text a 406 has."""
    if answer.status != 406:
        return None
    texts = {"only": b"only the following media types are accepted", "available": b"406: Not Acceptable"}
    return next((name for name, text in texts.items() if text in answer.body), "other")


def test_a_written_object_is_answered_in_protobuf_and_is_the_one_in_json(ask: Asking) -> None:
    created = ask.response("POST", LEASES, lease("a"), headers=PROTOBUF)
    patched = ask.response("PATCH", f"{LEASES}/a", {"spec": {"holderIdentity": ""}},
                           headers={**PROTOBUF, "content-type": MERGE})  # fmt: skip
    read = ask.response("GET", f"{LEASES}/a", headers=PROTOBUF)

    assert (created.status, patched.status, read.status) == (201, 200, 200)
    assert decode_object(created.body)["spec"] == {"holderIdentity": "a"}
    assert patched.body == read.body
    assert decode_object(read.body) == ask.ok("GET", f"{LEASES}/a")


def test_an_object_in_protobuf_is_sent_back_as_it_came(ask: Asking) -> None:
    ask.ok("POST", PODS, pod("p"))
    read = ask.response("GET", f"{PODS}/p", headers=PROTOBUF)

    answer = ask.response("PUT", f"{PODS}/p", read.body, headers={**PROTOBUF, "content-type": MEDIA_TYPE})

    assert (answer.status, answer.body) == (200, read.body)


def test_a_deletion_and_a_refusal_are_answered_with_a_status_in_protobuf(ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a"))

    deleted = ask.response("DELETE", f"{LEASES}/a", headers=PROTOBUF)
    refused = ask.response("DELETE", f"{LEASES}/a", headers=PROTOBUF)

    assert decode_object(deleted.body)["status"] == "Success"
    assert (refused.status, decode_object(refused.body)["reason"]) == (404, "NotFound")


def test_an_event_is_shown_with_the_names_of_its_group(ask: Asking) -> None:
    events = "/api/v1/namespaces/default/events"
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    ask.ok("POST", events, {"metadata": {"name": "e"}, "involvedObject": about, "message": "m"})

    answer = ask.response("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e", headers=PROTOBUF)

    shown_event = decode_object(answer.body)
    assert (shown_event["regarding"], shown_event["note"]) == (about, "m")


def test_a_watch_in_protobuf_shows_what_a_watch_in_json_shows(ask: Asking) -> None:
    ask.ok("POST", NODES, node("a"))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    watches = [ask.watch(NODES, accept=accept, **query) for accept in (STREAM_TYPE, "")]
    ask.patch(f"{NODES}/a", {"metadata": {"labels": {"x": ""}}})
    ask.ok("DELETE", f"{NODES}/a")

    binary, lines = (b"".join(watch.take()[0]) for watch in watches)

    assert watches[0].headers["content-type"] == STREAM_TYPE
    expected = [json.loads(line) for line in lines.splitlines()]
    assert [type_ for type_, _ in frames(binary)] == ["ADDED", "BOOKMARK", "MODIFIED", "DELETED"]
    assert [{"type": type_, "object": without_zeros(decode_object(body))} for type_, body in frames(binary)] == [
        {**event, "object": without_zeros(event["object"])} for event in expected
    ]


def test_an_event_is_encoded_once_for_all_watchers(ask: Asking) -> None:
    watches = [ask.watch(NODES, accept=STREAM_TYPE) for _ in range(2)]
    ask.ok("POST", NODES, node("a"))

    first, second = (watch.take()[0] for watch in watches)

    assert first[0] is second[0]


def test_a_watch_that_falls_behind_ends_with_an_error_in_protobuf(server: APIServer) -> None:
    ask = Asking(server)
    watch = ask.watch(NODES, accept=STREAM_TYPE)
    for name in ("a", "b", "c"):
        ask.ok("POST", NODES, node(name))

    ((type_, body),) = frames(b"".join(watch.take()[0]))

    assert (type_, opened(body).kind, decode_object(body)["code"]) == ("ERROR", "Status", 410)


def test_metadata_of_a_custom_object_is_answered_and_watched_in_protobuf(ask: Asking) -> None:
    define(ask)
    whole = ask.ok("POST", WIDGETS, widget())
    watch = ask.watch(WIDGETS, accept=f"{STREAM_TYPE};{PARTIAL}")

    answer = ask.response("GET", f"{WIDGETS}/w", headers={"accept": f"{MEDIA_TYPE};{PARTIAL}"})

    api_version, kind, message = opened(answer.body)
    assert (api_version, kind) == ("meta.k8s.io/v1", "PartialObjectMetadata")
    assert decode(f"{META}PartialObjectMetadata", message) == {"metadata": whole["metadata"]}
    assert schema_of(f"{META}PartialObjectMetadata").properties.keys() == {"metadata"}
    ((_, event),) = frames(b"".join(watch.take()[0]))
    assert event == answer.body
