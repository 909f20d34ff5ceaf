# SPDX-License-Identifier: Apache-2.0
"""Tokens of service accounts: what they contain, and when they are not accepted any more."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
from kit.apiserver.asking import NODES, Asking
from kit.apiserver.roles import ACCOUNTS, WHOAMI, bearing, token_for

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.authentication.signing import SigningKey, new_signing_key
from embedded_apiserver.server import APIServer

PODS = "/api/v1/namespaces/default/pods"


def status(ask: Asking, token: str) -> int:
    """Return how the server answers a request that every authenticated user may make."""
    return ask("POST", WHOAMI, {}, headers=bearing(token))[0]


def parts(token: str) -> list[Any]:
    return [json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2]]


def packed(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_token_names_its_account_and_its_time(ask: Asking) -> None:
    token = token_for(ask, "bot", {"expirationSeconds": 600})
    uid = ask.ok("GET", f"{ACCOUNTS}/bot")["metadata"]["uid"]

    header, claims = parts(token)
    user = ask.ok("POST", WHOAMI, {}, headers=bearing(token))["status"]["userInfo"]

    assert header["alg"] == "ES256"
    assert (claims["exp"] - claims["iat"], claims["aud"]) == (600, ["https://kubernetes.default.svc"])
    assert claims["kubernetes.io"] == {"namespace": "default", "serviceaccount": {"name": "bot", "uid": uid}}
    assert user == {
        "username": "system:serviceaccount:default:bot",
        "uid": uid,
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]},
    }


def test_a_token_expires(sim: Simulation) -> None:
    """As in a real server, clocks may differ by a minute."""
    ask = Asking(APIServer(sim.host("server")))
    token = token_for(ask, "bot", {"expirationSeconds": 600})

    sim.advance(659.0)
    assert status(ask, token) == 201
    sim.advance(2.0)
    assert status(ask, token) == 401


def test_a_token_ends_with_its_account(ask: Asking) -> None:
    token = token_for(ask, "bot")

    ask.ok("DELETE", f"{ACCOUNTS}/bot")
    assert status(ask, token) == 401
    again = token_for(ask, "bot")
    assert (status(ask, token), status(ask, again)) == (401, 201), "another account of the same name"


@pytest.mark.parametrize("kind", ["Pod", "Secret", "Node"])
def test_a_bound_token_ends_with_what_it_is_bound_to(kind: str, ask: Asking) -> None:
    path = {"Pod": PODS, "Secret": PODS.replace("pods", "secrets"), "Node": NODES}[kind]
    spec = {"serviceAccountName": "bot", "containers": [{"name": "c", "image": "i"}]} if kind == "Pod" else {}
    obj = {"metadata": {"name": "x"}, **({"spec": spec} if kind != "Secret" else {})}
    ask.ok("POST", path, obj)
    reference = {"kind": kind, "apiVersion": "v1", "name": "x"}
    token = token_for(ask, "bot", {"boundObjectRef": reference})
    answers = [status(ask, token)]

    ask.ok("DELETE", f"{path}/x", gracePeriodSeconds=0)
    answers.append(status(ask, token))
    ask.ok("POST", path, obj)
    answers.append(status(ask, token))

    assert answers == [201, 401, 401]


def test_a_pod_that_waits_for_its_end_keeps_its_token_for_a_minute(sim: Simulation) -> None:
    ask = Asking(APIServer(sim.host("server")))
    spec = {"serviceAccountName": "bot", "containers": [{"name": "c", "image": "i"}]}
    ask.ok("POST", PODS, {"metadata": {"name": "x", "finalizers": ["a.b/c"]}, "spec": spec})
    token = token_for(ask, "bot", {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "x"}})
    ask.ok("DELETE", f"{PODS}/x")

    sim.advance(59.0)
    assert status(ask, token) == 201
    sim.advance(2.0)
    assert status(ask, token) == 401


def test_a_token_for_others_is_not_for_the_server(ask: Asking) -> None:
    assert status(ask, token_for(ask, "bot", {"audiences": ["vault"]})) == 401


def test_a_token_of_another_server_is_not_accepted(sim: Simulation) -> None:
    one, other = (Asking(APIServer(sim.host(name))) for name in ("one", "other"))

    assert status(one, token_for(other, "bot")) == 401


def test_a_key_that_is_kept_accepts_the_tokens_of_before(sim: Simulation, tmp_path: Any) -> None:
    key = new_signing_key()
    first = Asking(APIServer(sim.host("a"), data_dir=tmp_path, signing_key=key))
    token = token_for(first, "bot")
    first.server.close()

    second = Asking(APIServer(sim.host("b"), data_dir=tmp_path, signing_key=key))
    assert status(second, token) == 201
    second.server.close()


def test_no_altered_token_is_accepted(ask: Asking) -> None:
    token = token_for(ask, "bot")
    token_for(ask, "other")
    head, body, signature = token.split(".")
    header, claims = parts(token)
    uid = ask.ok("GET", f"{ACCOUNTS}/other")["metadata"]["uid"]
    account = {"namespace": "default", "serviceaccount": {"name": "other", "uid": uid}}
    forged = packed({**claims, "kubernetes.io": account, "sub": "system:serviceaccount:default:other"})
    last = "A" if signature[-1] != "A" else "B"
    key_as_secret = hmac.new(
        header["kid"].encode(), f"{packed({**header, 'alg': 'HS256'})}.{body}".encode(), hashlib.sha256
    )
    mac = base64.urlsafe_b64encode(key_as_secret.digest()).rstrip(b"=").decode()
    altered = [
        f"{head}.{forged}.{signature}",
        f"{packed({'alg': 'none'})}.{forged}.",
        f"{packed({**header, 'alg': 'none'})}.{body}.",
        f"{packed({**header, 'alg': 'None'})}.{body}.{signature}",
        f"{packed({**header, 'alg': 'HS256'})}.{body}.{mac}",
        f"{packed({**header, 'kid': 'other'})}.{body}.{signature}",
        f"{packed({**header, 'x': 1})}.{body}.{signature}",
        f"{head}.{body}.{signature[:-1]}{last}",
        f"{head}.{body}.{signature}=",
        f"{head}.{body}.{signature}A",
        f"{head}.{body}.",
        f"{head}.{body}",
        f"{head}.{body}.{signature}.{signature}",
        f"{head}.{body}.{'A' * 86}",
        f"{head}. {body}.{signature}",
        "..",
        f"{'W' * 4000}.{body}.{signature}",
        f"{packed([])}.{body}.{signature}",
    ]

    assert status(ask, token) == 201
    answers = {one: status(ask, one) for one in altered}
    assert {one: answer for one, answer in answers.items() if answer != 401} == {}


def test_a_key_of_another_kind_is_refused() -> None:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    other = ec.generate_private_key(ec.SECP384R1())
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    with pytest.raises(ValueError, match="P-256"):
        SigningKey(pem)
