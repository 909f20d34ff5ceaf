# SPDX-License-Identifier: Apache-2.0
"""Sequences that reach what the others do not: every option of every verb, all subresources, and protobuf."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from differential.generate import Generator
from differential.operations import APPLY, JSON_PATCH, MERGE, STRATEGIC, Operation
from differential.reads import FIELDS, SELECTORS
from differential.samples import MORE, SAMPLES, Sample
from differential.tables import DELETE_OPTIONS

_ACCEPTS = (
    ("", 60),
    ("application/vnd.kubernetes.protobuf", 14),
    ("application/vnd.kubernetes.protobuf,application/json", 4),
    ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", 6),
    ("application/json;as=Table;v=v1;g=meta.k8s.io", 5),
    ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", 4),
    ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", 1),
    ("application/yaml", 3),
    ("application/cbor", 1),
    ("application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json", 2),
)
_VALIDATIONS = ("", "", "", "Strict", "Strict", "Warn", "Ignore", "Bad", "strict")
_DRY_RUNS = ("", "", "", "", "All", "All", "all")
_SUBRESOURCES = {
    "pods": ("status", "ephemeralcontainers", "resize", "binding", "eviction", "log", "exec", "proxy"),
    "namespaces": ("status", "finalize"),
    "serviceaccounts": ("token",),
    "certificatesigningrequests": ("status", "approval"),
    "deployments": ("status", "scale"),
    "replicasets": ("status", "scale"),
    "statefulsets": ("status", "scale"),
    "replicationcontrollers": ("status", "scale"),
    "nodes": ("status", "proxy"),
    "services": ("status", "proxy"),
}
_BODIES: dict[str, Any] = {
    "scale": {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 2}},
    "token": {"spec": {"audiences": ["a"], "expirationSeconds": 600}},
    "eviction": {"apiVersion": "policy/v1", "kind": "Eviction"},
    "binding": {"target": {"kind": "Node", "name": "n"}},
    "ephemeralcontainers": {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}},
    "resize": {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}},
}


class WideGenerator(Generator):
    """Draws one sequence of the profile `wide`."""

    def __init__(self, seed: int, drawn: Any = ()) -> None:
        super().__init__(seed, "wide", drawn)
        samples = [one for one in (*SAMPLES, *MORE) if not drawn or one.plural in drawn]
        self.samples = self.random.choices(samples, k=self.random.choice((1, 1, 2)))

    def ask(self, method: str, path: str, body: Any = None, kind: str = "", **more: Any) -> Operation:
        """Return a request with random parameters and headers."""
        random, query = self.random, []
        if method in ("POST", "PUT", "PATCH"):
            query += [f"fieldValidation={one}" for one in (random.choice(_VALIDATIONS),) if one]
            query += [f"fieldManager=m{random.choice((1, 2))}"] if kind == APPLY or random.random() < 0.3 else []
        if method != "GET":
            query += [f"dryRun={one}" for one in (random.choice(_DRY_RUNS),) if one]
        if kind == APPLY:
            query += random.choice(([], [], ["force=true"], ["force=false"], ["force=x"]))
        elif kind and random.random() < 0.05:
            query.append("force=true")
        accept = self.weighted(_ACCEPTS)
        if "watch=" in path and "protobuf" in accept:
            accept = ""
        headers = {name: value for name, value in (("accept", accept), ("content-type", kind)) if value}
        target = f"{path}{'&' if '?' in path else '?'}{'&'.join(query)}" if query else path
        return Operation(method=method, target=target, headers=headers, body=body, **more)

    def list(self, sample: Sample) -> Operation:
        """Draw a list with pages, selectors and versions together."""
        return self.ask("GET", f"{sample.collection}?{self._selection(sample, pages=True)}")

    def watch(self, sample: Sample) -> Operation:
        """Draw a watch with bookmarks or with initial events."""
        random = self.random
        parts = ["watch=1", "timeoutSeconds=5", self._selection(sample, pages=False)]
        parts.append(
            random.choice(
                (
                    "resourceVersion={start}",
                    "resourceVersion={start}&allowWatchBookmarks=true",
                    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                    "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion={start}",
                    "sendInitialEvents=true&resourceVersion={start}",
                    "sendInitialEvents=x",
                    "resourceVersionMatch=Exact&resourceVersion={start}",
                    "limit=1&resourceVersion={start}",
                )
            )
        )
        return self.ask("GET", f"{sample.collection}?{'&'.join(filter(None, parts))}")

    def _selection(self, sample: Sample, *, pages: bool) -> str:
        random, parts = self.random, []
        if not sample.namespaced:
            parts.append("labelSelector=" + quote(random.choice(("run={ns}", "run={ns},app in (a,b)")), safe="{}"))
        elif random.random() < 0.5:
            parts.append("labelSelector=" + quote(random.choice(SELECTORS), safe="{}"))
        if random.random() < 0.3:
            parts.append("fieldSelector=" + quote(random.choice(FIELDS), safe="{}"))
        if pages and random.random() < 0.6 and sample.namespaced:
            parts.append(f"limit={random.choice((1, 1, 2, 500))}")
            if random.random() < 0.5:
                parts.append("continue={continue}")
            elif random.random() < 0.3:
                parts.append(
                    random.choice(
                        (
                            "resourceVersion=0",
                            "resourceVersion={start}&resourceVersionMatch=NotOlderThan",
                            "resourceVersion=0&resourceVersionMatch=Exact",
                            "resourceVersionMatch=NotOlderThan",
                        )
                    )
                )
        return "&".join(parts)

    def deletecollection(self, sample: Sample) -> Operation:
        """Draw a delete of several objects with options."""
        if not sample.namespaced:
            return self.ask("DELETE", f"{sample.collection}?labelSelector=run%3D{{ns}}", self.weighted(DELETE_OPTIONS))
        return self.ask(
            "DELETE", f"{sample.collection}?{self._selection(sample, pages=False)}", self.weighted(DELETE_OPTIONS)
        )

    def special(self, sample: Sample) -> Operation:
        """Draw a request to any subresource, with any verb."""
        random, item = self.random, self.item(sample)
        part = random.choice(_SUBRESOURCES.get(sample.plural, ("status", "scale", "nope")))
        name = item.rsplit("/", 1)[1]
        body = {**_BODIES.get(part, {"status": dict(sample.status or {})})}
        method = random.choice(("GET", "PUT", "PATCH", "PATCH", "POST", "DELETE"))
        if method == "PATCH":
            kind = random.choice((MERGE, STRATEGIC, JSON_PATCH, APPLY))
            if kind == JSON_PATCH:
                key = random.choice(sorted(body)) if body else "status"
                return self.ask("PATCH", f"{item}/{part}", [{"op": "add", "path": f"/{key}", "value": body[key]}], kind)
            if kind == APPLY:
                own = {"apiVersion": sample.api_version, "kind": sample.kind, "metadata": {"name": name}}
                body = {**own, **body}
            return self.ask("PATCH", f"{item}/{part}", body, kind)
        if method == "PUT" and part in ("status", "finalize", "approval") and random.random() < 0.7:
            edits = ((("status",), dict(sample.status)),) if sample.status else ()
            return self.ask("PUT", f"{item}/{part}", last=item, edits=edits)
        if method in ("POST", "PUT"):
            body["metadata"] = {"name": name, **({"namespace": "{ns}"} if sample.namespaced else {})}
            return self.ask(method, f"{item}/{part}", body)
        return self.ask(method, f"{item}/{part}")
