# SPDX-License-Identifier: Apache-2.0
"""Attacks on authentication and authorization, over TLS."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

from attacks import check
from target import Target, serving

SECRETS = "/api/v1/namespaces/kube-system/secrets"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
REFUSED = (400, 401, 403, 404, 405, 411)
# A token that the server has not made, with its claims in order.
_NONE = ".".join(
    base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (b'{"alg":"none"}', b'{"sub":"admin"}', b"")
)


def post(target: Target, path: str, obj: object, *lines: bytes) -> tuple[int, bytes]:
    return target.exchange("POST", path, json.dumps(obj).encode(), *lines)


def account(target: Target) -> bytes:
    """Return the header of a service account that may read the config maps of `default` and nothing else."""
    post(target, ACCOUNTS, {"metadata": {"name": "low"}})
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    post(target, f"{ROLES}/namespaces/default/roles", {"metadata": {"name": "low"}, "rules": [rule]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "low"}
    subject = {"kind": "ServiceAccount", "name": "low"}
    binding = {"metadata": {"name": "low"}, "roleRef": reference, "subjects": [subject]}
    post(target, f"{ROLES}/namespaces/default/rolebindings", binding)
    status, body = post(target, f"{ACCOUNTS}/low/token", {})
    check(status == 201, f"no token: {status}")
    return b"Authorization: Bearer " + json.loads(body)["status"]["token"].encode()


def tricks_with_paths(place: Path) -> str:
    """Reading secrets with a token for config maps, by other spellings of their path."""
    own = "/api/v1/namespaces/default/configmaps"
    paths = [
        SECRETS,
        f"{SECRETS}/",
        f"{SECRETS}//",
        f"/{SECRETS}",
        f"/.{SECRETS}",
        f"{own}/../secrets",
        f"{own}/%2e%2e/secrets",
        f"{own}/..%2fsecrets",
        f"{own}/a/../../secrets",
        "/api/v1/namespaces/default/secrets",
        f"{own}%2f..%2fsecrets",
        "/api/v1/namespaces/default/%73ecrets",
        "/api/v1/secrets",
        "/api/v1/watch/secrets",
        "/api/v1/namespaces//secrets",
        "/api/v1/namespaces/kube-system/configmaps",
        "/api/v1/configmaps",
        f"/version/..{SECRETS}",
        f"/healthz/..{SECRETS}",
        f"{own}?x=/../secrets",
        "/API/v1/secrets",
        f"{SECRETS};x",
        f"{SECRETS}%00",
        f"{SECRETS}%0a",
        f"{own}/../../kube-system/secrets",
        f"https://127.0.0.1{SECRETS}",
        f"{SECRETS}?watch=1",
        f"{SECRETS}?fieldSelector=metadata.name%3Dthe-secret",
    ]
    with serving() as (target, _):
        header = account(target)
        secret = {"metadata": {"name": "the-secret"}, "stringData": {"key": "treasure"}}
        for namespace in ("kube-system", "default"):
            check(post(target, f"/api/v1/namespaces/{namespace}/secrets", secret)[0] == 201, "no secret")
        check(target.exchange("GET", own, b"", header)[0] == 200, "the account may not even read its config maps")
        seen = {path: target.exchange("GET", path, b"", header) for path in paths}
        leaks = [path for path, (_, body) in seen.items() if b"the-secret" in body and b"forbidden" not in body]
    check(not leaks, f"read by {leaks}")
    return f"{len(paths)} paths, answered {sorted({status for status, _ in seen.values()})}"


def tricks_with_headers(place: Path) -> str:
    """Becoming an administrator by headers."""
    masters = [b"Impersonate-Group: system:masters"]
    attempts: list[list[bytes]] = [
        [b"Impersonate-User: admin"],
        [b"Impersonate-User: admin", *masters],
        [b"impersonate-USER: admin", b"IMPERSONATE-group: system:masters"],
        masters,
        [b"Impersonate-User: system:serviceaccount:default:low", *masters],
        [b"Impersonate-User: ", *masters],
        [b"Impersonate-User: low", b"Impersonate-User: admin", *masters],
        [b"Impersonate-Extra-a: b", *masters],
        [b"X-Remote-User: admin", b"X-Remote-Group: system:masters"],
        [b"X-Forwarded-User: admin"],
        [b"Cookie: token=admin"],
    ]
    with serving() as (target, _):
        header = account(target)
        answers = [target.exchange("GET", SECRETS, b"", header, *lines)[0] for lines in attempts]
        answers += [target.exchange("GET", SECRETS, b"", b"Authorization:", *lines)[0] for lines in attempts]
        both = [b"Authorization: Bearer wrong", b"Authorization: Bearer " + target.token.encode()]
        answers += [target.exchange("GET", SECRETS, b"", *order)[0] for order in (both, both[::-1], [header, both[0]])]
    check(all(answer in REFUSED for answer in answers), f"answered {answers}")
    return f"{len(answers)} combinations, answered {sorted(set(answers))}"


def tricks_with_tokens(place: Path) -> str:
    """Tokens that are altered, of no algorithm, or of another form."""
    with serving() as (target, _):
        good = account(target).removeprefix(b"Authorization: Bearer ").decode()
        head, body, signature = good.split(".")
        claims = base64.urlsafe_b64decode(body + "==").replace(b":low", b":top")
        forged = base64.urlsafe_b64encode(claims).rstrip(b"=").decode()
        tokens = [
            _NONE,
            f"{head}.{forged}.{signature}",
            f"{head}.{body}.",
            f"{head}.{body}",
            f"{good}.",
            f".{good}",
            f"{good}=",
            f"{head}.{body}.{signature[::-1]}",
            f"{head}.{body}.{'A' * 86}",
            "..",
            ".",
            "a.b.c",
            quote(good, safe="") + "%",
            good.upper(),
            good[:-1],
            "A" * 7000,
            f"{'A' * 2000}.{'B' * 2000}.{'C' * 2000}",
        ]
        answers = [
            target.exchange(
                "GET", "/api/v1/namespaces/default/configmaps", b"", f"Authorization: Bearer {one}".encode()
            )[0]
            for one in tokens
        ]
    check(all(answer == 401 for answer in answers), f"answered {answers}")
    return f"{len(tokens)} tokens, each 401"


def gaining_rights(place: Path) -> str:
    """Gaining rights by writing roles and bindings, with the right to write them."""
    verbs = ["get", "list", "create", "update", "patch", "delete", "deletecollection"]
    names = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"]
    rule = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": names, "verbs": verbs}
    low = {"kind": "ServiceAccount", "name": "low", "namespace": "default"}
    to = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    with serving() as (target, _):
        header = account(target)
        post(target, f"{ROLES}/clusterroles", {"metadata": {"name": "writer"}, "rules": [rule]})
        writing = {"metadata": {"name": "writer"}, "roleRef": {**to, "name": "writer"}, "subjects": [low]}
        post(target, f"{ROLES}/clusterrolebindings", writing)
        admin = {"metadata": {"name": "mine"}, "roleRef": {**to, "name": "cluster-admin"}, "subjects": [low]}
        label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
        put = [
            ("POST", "clusterrolebindings", admin),
            ("POST", "clusterroles", {"metadata": {"name": "mine"}, "rules": everything}),
            ("PUT", "clusterroles/writer", {"metadata": {"name": "writer"}, "rules": everything}),
            ("PUT", "clusterroles/mine", {"metadata": {"name": "mine"}, "rules": everything}),
            ("POST", "clusterroles", {"metadata": {"name": "mine", "labels": label}, "rules": everything}),
            ("POST", "namespaces/kube-system/rolebindings", admin),
            ("POST", "namespaces/kube-system/roles", {"metadata": {"name": "mine"}, "rules": everything}),
            ("PUT", "clusterrolebindings/cluster-admin", {**admin, "metadata": {"name": "cluster-admin"}}),
            ("POST", "clusterroles", {"metadata": {"name": "mine"}, "aggregationRule": {"clusterRoleSelectors": [{}]}}),
        ]
        answers = [
            target.exchange(verb, f"{ROLES}/{path}", json.dumps(obj).encode(), header)[0] for verb, path, obj in put
        ]
        reached = target.exchange("GET", SECRETS, b"", header)[0]
    check(all(answer == 403 for answer in answers), f"answered {answers}")
    check(reached == 403, "it reads secrets now")
    return f"{len(put)} writes, each 403"


ATTACKS = (tricks_with_paths, tricks_with_headers, tricks_with_tokens, gaining_rights)
