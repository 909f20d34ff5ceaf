# SPDX-License-Identifier: Apache-2.0
"""GET of collections and objects: order, pages, versions, selectors."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from kit.apiserver.asking import LEASES, NODES, PODS, Asking, lease, node, pod, version
from kit.apiserver.defining import WIDGETS, define, widget

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History

EVERYWHERE = "/apis/coordination.k8s.io/v1/leases"


def names(body: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


def leases(ask: Asking, *wanted: str, path: str = LEASES) -> None:
    for name in wanted:
        ask.ok("POST", path, lease(name))


@pytest.fixture
def forgetful(sim: Simulation) -> Asking:
    """A server with a history of only two changes of each kind."""
    return Asking(APIServer(sim.host("forgetful"), history=History(changes=2)))


@pytest.mark.scenario("H-48")
def test_list_is_sorted_bare_and_as_new_as_its_newest_item(ask: Asking) -> None:
    """The items of a list are in the order of namespace and name, and have neither kind nor apiVersion."""
    leases(ask, "b", "a")
    leases(ask, "c", path=LEASES.replace("default", "kube-system"))

    listed = ask.ok("GET", EVERYWHERE)

    assert names(listed) == ["a", "b", "c"]
    assert (listed["kind"], listed["apiVersion"]) == ("LeaseList", "coordination.k8s.io/v1")
    assert all(set(item) == {"metadata", "spec"} for item in listed["items"])
    assert version(listed) >= max(map(version, listed["items"]))


def test_empty_list_has_empty_items(ask: Asking) -> None:
    assert ask.ok("GET", LEASES)["items"] == []


@pytest.mark.scenario("H-49")
def test_pages_show_one_state(ask: Asking) -> None:
    """Five objects in pages of two: 2, 2, 1, all of one version, even if objects are written between the requests."""
    leases(ask, *"abcde")
    pages = [ask.ok("GET", LEASES, limit=2)]
    while token := pages[-1]["metadata"].get("continue"):
        ask.ok("DELETE", f"{LEASES}/{'abcde'[len(pages)]}")
        leases(ask, f"c{len(pages)}")
        pages.append(ask.ok("GET", LEASES, limit=2, continue_=token))

    assert [names(page) for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
    assert len({version(page) for page in pages}) == 1
    assert [page["metadata"].get("remainingItemCount") for page in pages] == [3, 1, None]


def test_pages_of_a_selection_do_not_say_what_remains(ask: Asking) -> None:
    for name, value in zip("abcde", "12121", strict=True):
        ask.ok("POST", LEASES, lease(name, {"labels": {"x": value}}))

    first = ask.ok("GET", LEASES, limit=2, labelSelector="x=1")
    second = ask.ok("GET", LEASES, limit=2, labelSelector="x=1", continue_=first["metadata"]["continue"])

    assert (names(first), names(second)) == (["a", "c"], ["e"])
    assert "remainingItemCount" not in first["metadata"]
    assert "continue" not in second["metadata"]


@pytest.mark.scenario("H-50")
def test_page_cannot_be_asked_for_at_another_version(ask: Asking) -> None:
    """A version beside a continue token is answered 400: the token has its own version."""
    leases(ask, *"abc")
    token = ask.ok("GET", LEASES, limit=1)["metadata"]["continue"]

    assert ask("GET", LEASES, limit=1, continue_=token, resourceVersion=7)[0] == 400


@pytest.mark.parametrize(
    "token",
    ["abc", "!", base64.urlsafe_b64encode(b'{"rv": "x"}').decode(), base64.urlsafe_b64encode(b"\xff").decode()],
)
def test_broken_token_is_refused(token: str, ask: Asking) -> None:
    assert ask("GET", LEASES, continue_=token)[0] == 400


@pytest.mark.scenario("H-51")
@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"resourceVersionMatch": "Exact"}, id="match without version"),
        pytest.param({"resourceVersionMatch": "Exact", "resourceVersion": 0}, id="exactly any"),
        pytest.param({"resourceVersionMatch": "Other", "resourceVersion": 7}, id="unknown match"),
        pytest.param({"sendInitialEvents": "true"}, id="initial events"),
    ],
)
def test_contradiction_is_refused(query: dict[str, Any], ask: Asking) -> None:
    """Parameters that contradict each other are answered 422 on ListOptions."""
    status, body = ask("GET", LEASES, **query)

    assert (status, body["details"]["kind"]) == (422, "ListOptions")


def test_expired_token_offers_to_go_on_in_the_newest_state(forgetful: Asking) -> None:
    leases(forgetful, *"abc")
    token = forgetful.ok("GET", LEASES, limit=1)["metadata"]["continue"]
    leases(forgetful, *"def")

    status, body = forgetful("GET", LEASES, limit=1, continue_=token)
    assert (status, body["reason"]) == (410, "Expired")

    rest = forgetful.ok("GET", LEASES, continue_=body["metadata"]["continue"])
    assert names(rest) == ["b", "c", "d", "e", "f"]
    assert version(rest) == forgetful.server.storage.version


def test_exact_version_is_answered_from_the_history(ask: Asking) -> None:
    leases(ask, *"ab")
    then = ask.ok("GET", LEASES)
    ask.ok("DELETE", f"{LEASES}/a")
    ask.patch(f"{LEASES}/b", {"spec": {"holderIdentity": "z"}})

    by_match = ask.ok("GET", LEASES, resourceVersion=version(then), resourceVersionMatch="Exact")
    by_old_rule = ask.ok("GET", LEASES, resourceVersion=version(then), limit=10)

    assert by_match == by_old_rule == then


def test_exact_version_that_is_forgotten_is_gone(forgetful: Asking) -> None:
    leases(forgetful, *"abcd")
    first = version(forgetful.ok("GET", f"{LEASES}/a"))

    status, body = forgetful("GET", LEASES, resourceVersion=first, resourceVersionMatch="Exact")

    assert (status, body["reason"]) == (410, "Expired")


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({}, id="newest"),
        pytest.param({"resourceVersion": 0, "limit": 1}, id="any, where the limit is ignored"),
        pytest.param({"resourceVersion": 1}, id="at least"),
        pytest.param(
            {"resourceVersion": 1, "resourceVersionMatch": "NotOlderThan", "limit": 9}, id="at least, in pages"
        ),
    ],
)
def test_state_asked_for_is_the_newest(query: dict[str, Any], ask: Asking) -> None:
    leases(ask, *"ab")

    listed = ask.ok("GET", LEASES, **query)

    assert (names(listed), version(listed)) == (["a", "b"], ask.server.storage.version)


@pytest.mark.parametrize("path", [LEASES, f"{LEASES}/a"])
def test_version_from_the_future_is_refused_at_once(path: str, ask: Asking) -> None:
    leases(ask, "a")

    response = ask.response("GET", path, resourceVersion=10**18)

    assert (response.status, response.headers["retry-after"]) == (504, "1")
    assert json.loads(response.body)["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize("path", [LEASES, f"{LEASES}/a"])
@pytest.mark.parametrize("text", ["abc", "-1", "1.5", "٣"])
def test_version_that_is_no_number_is_refused(text: str, path: str, ask: Asking) -> None:
    """A real server answers 500 for one object, and 400 for a list."""
    leases(ask, "a")

    assert ask("GET", path, resourceVersion=text)[0] == (400 if path == LEASES else 500)


@pytest.mark.scenario("H-53")
def test_fields_that_a_kind_offers_can_be_selected_by(ask: Asking) -> None:
    """Pods can be selected by their node, leases only by name and namespace."""
    ask.ok("POST", NODES, node("n"))
    ask.ok("POST", PODS, pod("here", nodeName="n"))
    ask.ok("POST", PODS, pod("nowhere"))

    assert names(ask.ok("GET", PODS, fieldSelector="spec.nodeName=n")) == ["here"]
    assert names(ask.ok("GET", PODS, fieldSelector="spec.nodeName!=n")) == ["nowhere"]
    assert ask("GET", LEASES, fieldSelector="spec.holderIdentity=x")[0] == 400


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param("metadata.name=a", ["a", "a"], id="name, in all namespaces"),
        pytest.param("metadata.name=a,metadata.namespace=default", ["a"], id="name in its namespace"),
        pytest.param("metadata.namespace=kube-system", ["a", "ab"], id="namespace"),
        pytest.param("metadata.name!=a", ["ab", "ab"], id="not the name"),
        pytest.param("metadata.name=a,metadata.name=ab", [], id="two names at once"),
    ],
)
def test_name_and_namespace_select(selector: str, expected: list[str], ask: Asking) -> None:
    leases(ask, "a", "ab")
    leases(ask, "a", "ab", path=LEASES.replace("default", "kube-system"))

    assert names(ask.ok("GET", EVERYWHERE, fieldSelector=selector)) == expected


def test_selector_over_namespaces_does_not_leave_the_one_of_the_path(ask: Asking) -> None:
    leases(ask, "a")

    assert names(ask.ok("GET", LEASES, fieldSelector="metadata.namespace=kube-system")) == []


@pytest.mark.parametrize("selector", ["a==b=c", "=", "a in ("])
def test_selector_that_cannot_be_read_is_refused(selector: str, ask: Asking) -> None:
    assert ask("GET", LEASES, labelSelector=selector)[0] == 400


@pytest.mark.parametrize(("name", "value"), [("limit", "x"), ("timeoutSeconds", "soon")])
def test_parameter_that_is_no_number_is_refused(name: str, value: str, ask: Asking) -> None:
    assert ask("GET", LEASES, **{name: value})[0] == 400


def test_the_names_of_a_list_of_custom_objects_are_in_alphabetical_order_as_on_a_real_server(ask: Asking) -> None:
    define(ask)
    for name in ("a", "b"):
        ask.ok("POST", WIDGETS, widget(name))

    answers = [ask.ok("GET", WIDGETS, **options) for options in ({"limit": 1}, {}, {"labelSelector": "a=b"})]

    assert [list(answer) for answer in answers] == 3 * [["apiVersion", "items", "kind", "metadata"]]
    assert list(answers[0]["metadata"]) == ["continue", "remainingItemCount", "resourceVersion"]
    assert [list(item)[:2] for answer in answers for item in answer["items"]] == 3 * [["apiVersion", "kind"]]
    assert list(ask.ok("GET", f"{WIDGETS}/a"))[:2] == ["apiVersion", "kind"]
    assert list(ask.ok("GET", LEASES)) == ["kind", "apiVersion", "metadata", "items"]
