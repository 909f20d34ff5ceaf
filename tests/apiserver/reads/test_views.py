# SPDX-License-Identifier: Apache-2.0
"""Objects with their metadata alone, with the field names of another group, and as YAML."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.apiserver.asking import LEASES, Asking, lease

from apimachinery.http import HTTPRequest, HTTPResponse
from embedded_apiserver.groups.events.kinds import EVENT, NEW_EVENT
from embedded_apiserver.reads.yaml_form import to_yaml
from embedded_apiserver.typed.body import decode

EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
METADATA = {"accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


def old_style(name: str, **parts: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    return {"metadata": {"name": name}, "involvedObject": about, "message": "m", **parts}


def test_metadata_alone_names_the_kind_of_each_item(ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a"))

    listed = ask.ok("GET", LEASES, headers=METADATA)

    assert listed["kind"] == "PartialObjectMetadataList"
    assert [item.keys() for item in listed["items"]] == [{"kind", "apiVersion", "metadata"}]
    assert listed["items"][0]["kind"] == "PartialObjectMetadata"


def test_an_event_is_seen_in_both_groups_by_the_names_of_each(ask: Asking) -> None:
    created = ask.ok("POST", EVENTS, old_style("e", count=3))

    seen = ask.ok("GET", f"{NEW_EVENTS}/e")

    assert (seen["apiVersion"], seen["note"], seen["deprecatedCount"]) == ("events.k8s.io/v1", "m", 3)
    assert seen["regarding"] == created["involvedObject"]
    assert seen["metadata"] == created["metadata"]
    assert "reportingInstance" not in seen


def test_an_event_patched_in_one_group_is_changed_in_the_other(ask: Asking) -> None:
    ask.ok("POST", EVENTS, old_style("e", type="Normal", eventTime="2026-01-01T00:00:00.000000Z", action="A",
                                     reason="R", reportingComponent="c", reportingInstance="i"))  # fmt: skip

    status, patched = ask.patch(f"{NEW_EVENTS}/e", {"metadata": {"labels": {"a": "b"}}})

    assert (status, patched["note"]) == (200, "m")
    assert ask.ok("GET", f"{EVENTS}/e")["metadata"]["labels"] == {"a": "b"}


def test_a_new_style_event_does_not_change(ask: Asking) -> None:
    ask.ok("POST", EVENTS, old_style("e", type="Normal", eventTime="2026-01-01T00:00:00.000000Z", action="A",
                                     reason="R", reportingComponent="c", reportingInstance="i"))  # fmt: skip

    status, refused = ask.patch(f"{NEW_EVENTS}/e", {"note": "other"})

    assert (status, refused["details"]["causes"][0]["field"]) == (422, "message")


@pytest.mark.parametrize(
    ("path", "selector", "found"),
    [
        pytest.param(EVENTS, "involvedObject.name=p", 1, id="by its old name"),
        pytest.param(EVENTS, "involvedObject.name=q", 0, id="another object"),
        pytest.param(NEW_EVENTS, "regarding.name=p", 1, id="by its new name"),
        pytest.param(EVENTS, "source=kubelet", 1, id="by its source"),
    ],
)
def test_events_are_selected_by_what_they_are_about(path: str, selector: str, found: int, ask: Asking) -> None:
    ask.ok("POST", EVENTS, old_style("e", source={"component": "kubelet"}))

    assert len(ask.ok("GET", path, fieldSelector=selector)["items"]) == found


def test_each_group_selects_by_its_own_names_whichever_asks_first(ask: Asking) -> None:
    ask.ok("POST", EVENTS, old_style("e"))
    asked = [(EVENTS, "involvedObject.name=p"), (NEW_EVENTS, "regarding.name=p"), (EVENTS, "involvedObject.name=p")]

    assert [len(ask.ok("GET", path, fieldSelector=selector)["items"]) for path, selector in asked] == [1, 1, 1]


def test_a_selector_by_the_other_groups_name_is_refused(ask: Asking) -> None:
    assert ask("GET", EVENTS, fieldSelector="regarding.name=p")[0] == 400


texts = st.text("abc", min_size=1, max_size=3)


@given(
    st.fixed_dictionaries({}, optional={"message": texts, "reason": texts, "count": st.integers(1, 9), "type": texts})
)
def test_an_event_shown_in_new_words_and_stored_again_is_the_same(parts: dict[str, Any]) -> None:
    policy = NEW_EVENT.policy
    stored, _ = decode(EVENT, b'{"metadata": {"name": "e"}}', "")
    stored |= parts

    assert policy.stored_form(policy.shown_form(stored)) == stored


@pytest.mark.parametrize(
    ("json", "yaml"),
    [
        pytest.param(b'{"b":1,"a":"x"}', "a: x\nb: 1\n", id="names are sorted"),
        pytest.param(b'{"a":[{"b":1,"c":[]}]}', "a:\n- b: 1\n  c: []\n", id="lists are not indented"),
        pytest.param(b'{"n":"1","a":"true"}', 'a: "true"\n"n": "1"\n', id="texts that look otherwise are quoted"),
        pytest.param(b'{"a":"x\\ny\\n"}', "a: |\n  x\n  y\n", id="lines are kept"),
        pytest.param(b'{"a":"2026-01-01T00:00:00Z"}', 'a: "2026-01-01T00:00:00Z"\n', id="times are texts"),
        pytest.param('{"ä":null}'.encode(), "ä: null\n", id="letters are kept"),
    ],
)
def test_yaml_reads_as_a_real_server_writes_it(json: bytes, yaml: str) -> None:
    assert to_yaml(json).decode() == yaml


def test_a_watch_in_yaml_is_refused(ask: Asking) -> None:
    request = HTTPRequest("GET", LEASES, (("watch", "1"),), {"accept": "application/yaml"})
    answer = ask.server.handle(request, on_ready=lambda: None)

    assert isinstance(answer, HTTPResponse)
    assert (answer.status, answer.headers["content-type"]) == (406, "application/yaml")


def test_yaml_is_read_and_written(ask: Asking) -> None:
    headers = {"content-type": "application/yaml", "accept": "application/yaml"}

    answer = ask.response("POST", LEASES, b"metadata: {name: a}\nspec: {holderIdentity: me}\n", headers=headers)

    assert (answer.status, answer.headers["content-type"]) == (201, "application/yaml")
    assert answer.body.endswith(b"spec:\n  holderIdentity: me\n")
