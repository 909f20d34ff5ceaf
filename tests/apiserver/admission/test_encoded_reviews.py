# SPDX-License-Identifier: Apache-2.0
"""The requests of admission reviews, encoded in parts, are to the byte what the whole request is, encoded at once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from embedded_apiserver.admission.step import Asked, Attributes, Operation, by_the_server
from embedded_apiserver.admission.webhooks.encoded import encoded_request
from embedded_apiserver.admission.webhooks.shown import request_of
from embedded_apiserver.groups.core.kinds import NAMESPACE, NODE
from embedded_apiserver.groups.events.kinds import EVENT, NEW_EVENT
from embedded_apiserver.groups.parts import SCALE
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.groups.workloads.kinds import DEPLOYMENT
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.options import DeleteOptions, WriteOptions
from embedded_apiserver.users import User

CREATE, UPDATE, DELETE = Operation
IN_DEFAULT: dict[str, Any] = {
    "metadata": {"name": 'a"b\u00e9', "namespace": "default", "uid": "1"},
    "spec": {"n": [1.0]},
}
UNPLACED: dict[str, Any] = {"metadata": {"generateName": "a-"}, "data": None}
NAMED: dict[str, Any] = {"metadata": {"name": "n"}}
OWN_KIND: dict[str, Any] = {**IN_DEFAULT, "kind": "Other", "apiVersion": "v9"}
EVENT_OF_1: dict[str, Any] = {**IN_DEFAULT, "involvedObject": {"name": "x"}, "reason": "R", "type": "Normal"}
SCALED: dict[str, Any] = {
    **IN_DEFAULT,
    "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}},
    "status": {"replicas": 1},
}
DRY = Asked(User("dry", "7", ("g", "h")), WriteOptions(True, "Strict", "me", force=False), [], True)
BOUND = Asked(User("x", extra={"pod": ("p", "q")}), WriteOptions(False, "", "", force=True), [], False)
DELETES = Asked(User("x"), DeleteOptions(grace_period_seconds=0, dry_run=["All"]), [], True)
SERVER = by_the_server()


@pytest.mark.parametrize(
    ("attributes", "seen_as"),
    [
        (Attributes(CREATE, POD, "default", SERVER, UNPLACED), POD),
        (Attributes(CREATE, POD, "default", DRY, IN_DEFAULT), POD),
        (Attributes(UPDATE, POD, "default", BOUND, IN_DEFAULT, {**IN_DEFAULT, "spec": {}}), POD),
        (Attributes(UPDATE, POD, "default", BOUND, OWN_KIND, IN_DEFAULT), POD),
        (Attributes(UPDATE, POD, "default", SERVER, IN_DEFAULT, IN_DEFAULT, "status"), POD),
        (Attributes(UPDATE, DEPLOYMENT, "default", SERVER, SCALED, SCALED, "scale", SCALE), DEPLOYMENT),
        (Attributes(DELETE, POD, "default", DELETES, {}, IN_DEFAULT), POD),
        (Attributes(UPDATE, EVENT, "default", SERVER, EVENT_OF_1, EVENT_OF_1), NEW_EVENT),
        (Attributes(CREATE, NODE, "", SERVER, NAMED), NODE),
        (Attributes(UPDATE, NAMESPACE, "", DRY, NAMED, NAMED), NAMESPACE),
    ],
)
def test_a_request_in_parts_is_the_whole_request(attributes: Attributes, seen_as: Kind) -> None:
    uid = "11111111-2222-4333-8444-555555555555"
    whole = msgspec.json.encode(request_of(attributes, seen_as, uid))
    for _ in range(2):  # the second time from what is kept
        assert encoded_request(attributes, seen_as, uid) == whole


def test_the_parts_of_one_user_or_options_are_not_those_of_another() -> None:
    for asked in (SERVER, DRY, BOUND, SERVER):
        for operation in (CREATE, UPDATE):
            attributes = Attributes(operation, POD, "default", asked, IN_DEFAULT)
            shown = msgspec.json.decode(encoded_request(attributes, POD, "1"))
            assert shown == request_of(attributes, POD, "1")
