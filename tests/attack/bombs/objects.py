# SPDX-License-Identifier: Apache-2.0
"""Objects of built-in kinds, delete options, and lists."""

from __future__ import annotations

from apimachinery.http import HTTPRequest
from bombs.making import A_CONFIG, A_NODE, CONFIGS, MERGE, NODES, PODS, Before, ask, bomb, config, filled, one_pod


@bomb("node: 20,000 bad taints", A_NODE)
def _() -> HTTPRequest:
    body = filled('{"metadata":{"name":"n"},"spec":{"taints":[', '{"key":"!","effect":"x"}', "]}}", most=16_000)
    return ask("PUT", f"{NODES}/n", body)


@bomb("node: 45,000 ranges")
def _() -> HTTPRequest:
    return ask(
        "POST",
        NODES,
        filled(
            '{"metadata":{"name":"n"},"spec":{"podCIDR":"10.0.0.0/8","podCIDRs":["10.0.0.0/8",',
            '"10.0.0.%d/33"',
            "]}}",
            most=45_000,
        ),
    )


@bomb("node: 20,000 addresses", A_NODE)
def _() -> HTTPRequest:
    body = filled('{"status":{"addresses":[', '{"type":"A","address":"a"}', "]}}", most=16_000)
    return ask("PATCH", f"{NODES}/n/status", body, MERGE)


@bomb("pod: tolerations", lambda: [ask("POST", PODS, one_pod())])
def _() -> HTTPRequest:
    body = filled('{"spec":{"tolerations":[', '{"key":"k%d"}', "]}}", most=24_000)
    return ask("PATCH", f"{PODS}/p", body, MERGE)


@bomb("role: 20,000 rules without verbs")
def _() -> HTTPRequest:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    return ask("POST", path, filled('{"metadata":{"name":"r"},"rules":[', '{"verbs":[]}', "]}", most=16_000))


@bomb("deployment: a selector of many values")
def _() -> HTTPRequest:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = '{"metadata":{"labels":{"a":"x"}},"spec":{"containers":[{"name":"c","image":"i"}]}}'
    head = '{"metadata":{"name":"d"},"spec":{"template":' + template + ',"selector":{"matchExpressions":['
    return ask("POST", path, filled(head, '{"key":"a","operator":"NotIn","values":["x%d"]}', "]}}}", most=9_000))


@bomb("namespace: bad finalizers")
def _() -> HTTPRequest:
    path = "/api/v1/namespaces"
    return ask("POST", path, filled('{"metadata":{"name":"x"},"spec":{"finalizers":[', '"!%d"', "]}}", most=45_000))


@bomb("delete: options of 3 MB", A_CONFIG)
def _() -> HTTPRequest:
    return ask("DELETE", f"{CONFIGS}/a", filled('{"dryRun":[', '"x"', "]}"))


@bomb("delete: 45,000 odd options", A_CONFIG)
def _() -> HTTPRequest:
    return ask("DELETE", f"{CONFIGS}/a", filled('{"dryRun":[', '"x%d"', "]}", most=45_000))


def _many(count: int) -> Before:
    return lambda: [
        ask("POST", CONFIGS, config(f"c{number:06}", labels={"a": f"v{number}"})) for number in range(count)
    ]


_VALUES = "a in (" + ",".join(f"v{number}" for number in range(9_000)) + ")"


@bomb("list: 3,000 objects by a selector of 9,000 values", _many(3_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, labelSelector=_VALUES)


@bomb("list: 3,000 objects by 12,000 requirements", _many(3_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, labelSelector=",".join(["a"] * 30_000))


@bomb("list: 3,000 objects by 2,500 field requirements", _many(3_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, fieldSelector=",".join(["metadata.name!=x"] * 3_500))


@bomb("list: one of 20,000 objects", _many(20_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, limit="1")


@bomb("list: one of 20,000 objects by a selector that selects none", _many(20_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, limit="1", labelSelector="a=x")


@bomb("watch: 20,000 objects by a selector that selects none", _many(20_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, watch="1", labelSelector="a=x")


@bomb("list: a selector of odd characters")
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, fieldSelector="\\" * 60_001)


@bomb("list: a selector of a long key")
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, labelSelector="a." * 30_000 + "/" + "b" * 1_000)


@bomb("list: a token of 60 KB")
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, **{"continue": "A" * 60_000})


@bomb("create: field manager of odd characters")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, config(), fieldManager="\x01" * 60_000)


CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


@bomb("claim: a size of 3 MB")
def _() -> HTTPRequest:
    size = "1" * 1_500_000 + "." + "9" * 1_500_000 + "Ei"
    requests = {"requests": {"storage": size}}
    return ask("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": {"accessModes": ["x"], "resources": requests}})


@bomb("claim: many amounts")
def _() -> HTTPRequest:
    head = '{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1",'
    return ask("POST", CLAIMS, filled(head, '"r%d":"1.5e100"', "}}}}", most=39_000))


@bomb("claim: many odd modes")
def _() -> HTTPRequest:
    return ask("POST", CLAIMS, filled('{"metadata":{"name":"c"},"spec":{"accessModes":[', '"x%d"', "]}}", most=79_000))


@bomb("pod: many volumes and containers with ports")
def _() -> HTTPRequest:
    port = '{"name":"c%d","image":"i","ports":[{"containerPort":1}],"env":[{"name":"a","value":"b"}]}'
    return ask("POST", PODS, filled('{"metadata":{"name":"p"},"spec":{"containers":[', port, "]}}", most=7_900))
