# SPDX-License-Identifier: Apache-2.0
"""Sequences of requests from a seed: what controllers and their tests send, and what is wrong with such requests."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from random import Random
from typing import Any

from apimachinery.schema import schema_for
from differential.custom import custom_sample, definitions
from differential.edits import edit
from differential.operations import APPLY, JSON_PATCH, MERGE, REMOVED, STRATEGIC, Operation
from differential.reads import listed, watched, wrong
from differential.samples import SAMPLES, Sample
from differential.tables import ACCEPTS, DELETE_OPTIONS, LABELS, METADATA, QUERIES, VERBS

PROFILES = ("core", "deep", "ssa", "watch", "crd", "wide")
LENGTH = 45
NAMES = ("a", "b", "c")


def sequence(seed: int, profile: str, drawn: Collection[str] = ()) -> list[Operation]:
    """Return the requests of a seed; `drawn` are the plurals of the kinds to draw from, all if it is empty."""
    if profile == "wide":
        from differential.wide import WideGenerator  # which is a generator of this module

        return WideGenerator(seed, drawn).sequence()
    return Generator(seed, profile, drawn).sequence()


class Generator:
    """Draws one sequence."""

    def __init__(self, seed: int, profile: str, drawn: Collection[str] = ()) -> None:
        self.random = Random(f"{profile}/{seed}")
        self.profile = profile
        if profile == "crd":
            self.first, self.samples = definitions(self.random)
        else:
            samples = [sample for sample in SAMPLES if not drawn or sample.plural in drawn]
            weights = [sample.weight for sample in samples]
            count = self.random.choice((1, 1, 2, 3))
            self.first, self.samples = [], self.random.choices(samples, weights, k=count)
        self.paged: list[str] = []

    def weighted(self, table: tuple[tuple[Any, int], ...]) -> Any:
        """Return one of the values, by weight."""
        return self.random.choices([value for value, _ in table], [weight for _, weight in table])[0]

    def sequence(self) -> list[Operation]:
        """Return all requests."""
        found = list(self.first)
        for _ in range(LENGTH):
            sample = self.random.choice(self.samples)
            found.append(getattr(self, self.weighted(VERBS[self.profile]))(sample))
        for sample in self.samples:
            table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
            own = "" if sample.namespaced else "labelSelector=run%3D{ns}&"
            found.append(Operation(method="GET", target=f"{sample.collection}?{own}limit=500"))
            found.append(Operation(method="GET", target=f"{sample.collection}?{own}limit=500", headers=table))
            watch = f"{sample.collection}?{own}watch=1&resourceVersion={{start}}&timeoutSeconds=5"
            found.append(Operation(method="GET", target=watch))
        return found

    def item(self, sample: Sample) -> str:
        """Return the path of one of the objects."""
        name = self.random.choice(NAMES)
        return f"{sample.collection}/{name if sample.namespaced else '{ns}-' + name}"

    def body(self, sample: Sample, name: str) -> dict[str, Any]:
        """Return a body: valid, with some further fields, or with something wrong."""
        random = self.random
        obj = sample.object(name)
        obj["metadata"]["labels"] = {**random.choice(LABELS[:4]), **({} if sample.namespaced else {"run": "{ns}"})}
        inner = obj["spec"] if "spec" in sample.body else obj
        if sample.rich:
            for field in random.sample(sorted(sample.rich), min(len(sample.rich), random.choice((0, 0, 1, 2)))):
                inner[field] = copy.deepcopy(sample.rich[field])
        schema = schema_for(sample.group, sample.version, sample.kind)
        edits = random.choice((1, 1, 2, 3)) if self.profile == "deep" else 1 if random.random() < 0.25 else 0
        for _ in range(edits):
            obj = edit(random, obj, schema) if schema is not None else custom_sample(random, sample, obj)
        if random.random() < 0.12:
            key, value = random.choice(METADATA)
            obj["metadata"][key] = copy.deepcopy(value)
        if random.random() < 0.03:
            obj[random.choice(("bogus", "spec" if "spec" in obj else "data"))] = random.choice(
                (1, "x", {"unknown": 1}, None)
            )
        if random.random() < 0.03:
            obj[random.choice(("kind", "apiVersion"))] = random.choice(("Foo", "v9", ""))
        if random.random() < 0.05:
            del obj["kind"], obj["apiVersion"]
        return obj

    def ask(self, method: str, path: str, body: Any = None, kind: str = "", **more: Any) -> Operation:
        """Return a request with random parameters and headers."""
        accept, query = self.weighted(ACCEPTS), self.weighted(QUERIES) if method != "GET" else ""
        if kind == APPLY and "fieldManager" not in query and self.random.random() < 0.97:
            query = "&".join(filter(None, (query, f"fieldManager=m{self.random.choice((1, 2, 3))}")))
            query += "&force=true" if self.random.random() < 0.3 else ""
        headers = {name: value for name, value in (("accept", accept), ("content-type", kind)) if value}
        target = f"{path}{'&' if '?' in path else '?'}{query}" if query else path
        return Operation(method=method, target=target, headers=headers, body=body, **more)

    def create(self, sample: Sample) -> Operation:
        """Draw a create."""
        body = self.body(sample, self.item(sample).rsplit("/", 1)[1])
        if self.random.random() < 0.08:
            del body["metadata"]["name"]
            body["metadata"]["generateName"] = "gen-"
        return self.ask("POST", sample.collection, body)

    def get(self, sample: Sample) -> Operation:
        """Draw a get."""
        return self.ask(
            "GET",
            self.item(sample)
            + self.random.choice(("", "", "", "?resourceVersion=0", "?resourceVersion=abc", "?pretty=true")),
        )

    def list(self, sample: Sample) -> Operation:
        """Draw a list."""
        return self.ask("GET", listed(self.random, sample))

    def watch(self, sample: Sample) -> Operation:
        """Draw a watch."""
        return self.ask("GET", watched(self.random, sample))

    def wrong(self, sample: Sample) -> Operation:
        """Draw a request that no client means."""
        return wrong(self.random, sample, self.item(sample))

    def update(self, sample: Sample) -> Operation:
        """Draw a PUT: of the last object with edits, as controllers do, or of a body of one's own."""
        item = self.item(sample)
        if self.random.random() < 0.3:
            return self.ask("PUT", item, self.body(sample, item.rsplit("/", 1)[1]))
        return self.ask("PUT", item, last=item, edits=tuple(self.edits(sample)))

    def edits(self, sample: Sample) -> list[Any]:
        """Return one or two edits of a read object."""
        random, other = self.random, self.body(sample, "a")
        found: list[Any] = []
        for _ in range(random.choice((0, 1, 1, 2))):
            choice = random.random()
            if choice < 0.35:
                labels = {**random.choice(LABELS), **({} if sample.namespaced else {"run": "{ns}"})}
                found.append((("metadata", "labels"), labels))
            elif choice < 0.5:
                key, value = random.choice(METADATA)
                found.append((("metadata", key), random.choice((value, REMOVED))))
            else:
                top = [name for name in other if name not in ("apiVersion", "kind", "metadata")] or ["kind"]
                key = random.choice(top)
                inner = other.get(key)
                if isinstance(inner, dict) and inner and random.random() < 0.8:
                    field = random.choice(sorted(inner, key=str))
                    found.append(((key, field), random.choice((inner[field], inner[field], REMOVED))))
                else:
                    found.append(((key,), inner))
        return found

    def merge(self, sample: Sample) -> dict[str, Any]:
        """Return a merge patch."""
        patch: dict[str, Any] = {}
        for path, value in self.edits(sample) or [(("metadata", "labels", "app"), "b")]:
            place = patch
            for step in path[:-1]:
                place = place.setdefault(step, {})
            place[path[-1]] = None if value == REMOVED else value
        return patch

    def patch(self, sample: Sample) -> Operation:
        """Draw a patch that is no apply."""
        random, item = self.random, self.item(sample)
        kind = random.choice(
            (MERGE, MERGE, STRATEGIC, JSON_PATCH, MERGE if random.random() < 0.8 else "application/json")
        )
        if kind != JSON_PATCH:
            return self.ask("PATCH", item, self.merge(sample), kind)
        steps = []
        for path, value in self.edits(sample) or [(("metadata", "labels"), {"app": "b"})]:
            pointer = "/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)
            if value == REMOVED:
                steps.append({"op": "remove", "path": pointer})
            else:
                steps.append({"op": random.choice(("add", "add", "replace", "test")), "path": pointer, "value": value})
        return self.ask("PATCH", item, steps, kind)

    def apply(self, sample: Sample) -> Operation:
        """Draw an apply of some of an object's fields."""
        random, item = self.random, self.item(sample)
        body = self.body(sample, item.rsplit("/", 1)[1])
        if isinstance(body.get("spec"), dict) and random.random() < 0.35:
            kept = random.sample(sorted(body["spec"], key=str), random.randint(0, len(body["spec"])))
            body["spec"] = {key: body["spec"][key] for key in kept}
        if random.random() < 0.9:
            body |= {"apiVersion": sample.api_version, "kind": sample.kind}
        return self.ask("PATCH", item, body, APPLY)

    def delete(self, sample: Sample) -> Operation:
        """Draw a delete."""
        return self.ask("DELETE", self.item(sample), self.weighted(DELETE_OPTIONS))

    def deletecollection(self, sample: Sample) -> Operation:
        """Draw a delete of several, never of those of others."""
        if not sample.namespaced:
            return self.ask("DELETE", f"{sample.collection}?labelSelector=run%3D{{ns}}")
        return self.ask(
            "DELETE",
            sample.collection
            + self.random.choice(
                ("", "?labelSelector=app%3Da", "?fieldSelector=metadata.name%3Da", "?labelSelector=app%3Da&dryRun=All")
            ),
        )

    def status(self, sample: Sample) -> Operation:
        """Draw a write of a status, or a read."""
        random, item = self.random, self.item(sample)
        status = dict(sample.status or {"phase": "x"})
        schema = schema_for(sample.group, sample.version, sample.kind)
        if schema is not None and sample.status is not None and random.random() < 0.4:
            status = edit(random, {"status": status}, schema, "status")["status"]
        write: Callable[[], Operation] = random.choice(
            (
                lambda: self.ask("PUT", f"{item}/status", last=item, edits=((("status",), status),)),
                lambda: self.ask("PATCH", f"{item}/status", {"status": status}, random.choice((MERGE, STRATEGIC))),
                lambda: self.ask(
                    "PATCH",
                    f"{item}/status",
                    {
                        "apiVersion": sample.api_version,
                        "kind": sample.kind,
                        "metadata": {"name": item.rsplit("/", 1)[1]},
                        "status": status,
                    },
                    APPLY,
                ),
                lambda: self.ask("GET", f"{item}/status"),
            )
        )
        return write()

    def special(self, sample: Sample) -> Operation:
        """Draw a request to another subresource."""
        random, item = self.random, self.item(sample)
        if sample.plural == "pods":
            name = item.rsplit("/", 1)[1]
            return random.choice(
                (
                    self.ask(
                        "POST",
                        f"{item}/eviction",
                        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}},
                    ),
                    self.ask(
                        "POST",
                        f"{item}/binding",
                        {
                            "apiVersion": "v1",
                            "kind": "Binding",
                            "metadata": {"name": name},
                            "target": {"kind": "Node", "name": random.choice(("n", ""))},
                        },
                    ),
                )
            )
        if sample.plural == "certificatesigningrequests":
            return self.approval(item)
        if sample.scale:
            replicas = random.choice((0, 1, 3, -1, "x"))
            return random.choice(
                (
                    self.ask("GET", f"{item}/scale"),
                    self.ask(
                        "PATCH", f"{item}/scale", {"spec": {"replicas": replicas}}, random.choice((MERGE, STRATEGIC))
                    ),
                    self.ask(
                        "PUT",
                        f"{item}/scale",
                        {
                            "apiVersion": "autoscaling/v1",
                            "kind": "Scale",
                            "metadata": {"name": item.rsplit("/", 1)[1], "namespace": "{ns}"},
                            "spec": {"replicas": replicas},
                        },
                    ),
                )
            )
        return self.status(sample)

    def approval(self, item: str) -> Operation:
        """Draw a decision about a request for a certificate."""
        condition = {"type": self.random.choice(("Approved", "Denied", "X", "")), "status": "True", "reason": "r"}
        if self.random.random() < 0.2:
            condition["status"] = self.random.choice(("False", ""))
        return self.random.choice(
            (
                self.ask("GET", f"{item}/approval"),
                self.ask("PATCH", f"{item}/approval", {"status": {"conditions": [condition]}}, MERGE),
                self.ask("PUT", f"{item}/approval", last=item, edits=((("status", "conditions"), [condition]),)),
            )
        )
