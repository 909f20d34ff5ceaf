# SPDX-License-Identifier: Apache-2.0
"""A run of requests with shard selectors, and its recording from a real server with `ShardedListAndWatch` on.

Values that differ in each run are replaced: versions, tokens, and the hashes of uids. To record it again, start a
real server with `--feature-gates=ShardedListAndWatch=true` and run `python -m kit.contract.shards KUBECONFIG` in the
folder of the tests.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from apimachinery.http import HTTPRequest
from apimachinery.shards import NAMESPACE, UID, fnv1a64, shard_selector
from kit.contract.targets import Target, cluster

RECORDING = Path(__file__).resolve().parent.parent.parent / "data" / "recordings" / "shards-1.36.2.json"
_TOP, _HALF = 1 << 64, 1 << 63
_WHOLE, _LOW = shard_selector(UID, [(0, _TOP)]), shard_selector(UID, [(0, _HALF)])
_NAMESPACES = [f"shards-{number}" for number in range(6)]
_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "shards.rec.example.com"},
    "spec": {
        "group": "rec.example.com",
        "names": {"kind": "Shard", "plural": "shards", "singular": "shard", "listKind": "ShardList"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
_PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_SECRETS, _SHARDS = "/api/v1/secrets", "/apis/rec.example.com/v1/shards"
REFUSED = (
    *("  ", "x", "object.metadata", "1", "'x'", "[1]", "{'a': 1}", "A{}", "has(object.metadata)", "!a", "a && b"),
    *("a ? b : c", "(", "a ||", "a || b", "shardRange()", "shardRange(object.metadata.uid)", "[1].all(x, x)"),
    "shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')",
    "shardRange(metadata.uid, '0x0000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata['uid'], '0x0000000000000000', '0x8000000000000000')",
    "shardRange(object.?metadata, '0x0000000000000000', '0x8000000000000000')",
    "shardRange('object.metadata.uid', '0x0000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x0', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x0000000000000000', '0xff')",
    "shardRange(object.metadata.uid, '0X0000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x000000000000000G', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x000000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x10000000000000001', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x10000000000000000', '0x10000000000000000')",
    "shardRange(object.metadata.uid, 1, 2)",
    "shardRange(object.metadata.uid, 1u, 2)",
    "shardRange(object.metadata.uid, 1.5, 2)",
    "shardRange(object.metadata.uid, true, 2)",
    "shardRange(object.metadata.uid, null, 2)",
    "shardRange(object.metadata.uid, b'0xff', null)",
    "shardRange(object.metadata.uid, x, y)",
    "shardRange(object.metadata.uid, -x, y)",
    f"{_LOW} || {shard_selector(NAMESPACE, [(0, _HALF)])}",
)
ACCEPTED = (
    "",
    _WHOLE,
    shard_selector(NAMESPACE, [(0, _HALF)]),
    shard_selector(NAMESPACE, [(_HALF, _TOP)]),
    shard_selector(NAMESPACE, [(0, _HALF), (_HALF, _TOP)]),
    shard_selector(NAMESPACE, [(0, _HALF), (1, _HALF), (0, 1)]),
    f" ((({_WHOLE})))\n",
    f"{_WHOLE}||{_WHOLE}||{_WHOLE}||{_WHOLE}",
    'shardRange( object.metadata . uid, "0x0000000000000000", r"""0x10000000000000000""")',
    "any.shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')",
    "// all\n" + _WHOLE,
    *(shard_selector(NAMESPACE, [(fnv1a64(name), fnv1a64(name) + 1)]) for name in _NAMESPACES[:2]),
)


class Play:
    """Makes the requests, one after the other.

    Args:
        ask: Makes one request.
    """

    def __init__(self, ask: Target) -> None:
        self._ask = ask
        self._told: dict[str, str] = {}

    def run(self) -> dict[str, Any]:
        """Return what is compared of each answer, by the name of its request."""
        return {name: _json(answer) for name, answer in self._steps()}

    def _steps(self) -> Iterator[tuple[str, Any]]:
        self._post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _DEFINITION)
        for number, name in enumerate(_NAMESPACES):
            self._post("/api/v1/namespaces", {"metadata": {"name": name}})
            self._post(f"/api/v1/namespaces/{name}/secrets", {"metadata": {"name": f"s{number}"}})
        shard = {"apiVersion": "rec.example.com/v1", "kind": "Shard", "metadata": {"name": "x"}}
        self._post("/apis/rec.example.com/v1/namespaces/shards-1/shards", shard)
        for text in (*REFUSED, *ACCEPTED):
            yield f"secrets {text}", self._get(_SECRETS, shards=text)
            if text.strip() and text in REFUSED:
                yield f"watch {text}", self._get(_SECRETS, watch="1", timeoutSeconds="1", shards=text)
        yield from self._forms()
        yield from self._beside_other_options()
        yield from self._pages()
        yield from self._watches()
        yield from self._deletions()

    def _forms(self) -> Iterator[tuple[str, Any]]:
        for path in (_SECRETS, _SHARDS):
            for accept in ("application/json", "application/yaml", _TABLE, _PARTIAL):
                for name, text in (("all", _WHOLE), ("bad", "x")):
                    yield f"{path} {name} as {accept}", self._get(path, accept, shards=text)
        none = shard_selector(NAMESPACE, [(_HALF, _TOP)])
        yield "custom none", self._get(_SHARDS, shards=none)
        for path in (
            "/api/v1/nodes",
            "/api/v1/podtemplates",
            f"{_SECRETS.replace('/v1', '/v1/namespaces/shards-1')}/s1",
        ):
            for name, text in (("none", none), ("bad", "x")):
                yield f"{path} {name}", self._get(path, shards=text)

    def _beside_other_options(self) -> Iterator[tuple[str, Any]]:
        streams = {"watch": "1", "sendInitialEvents": "true", "timeoutSeconds": "1"}
        for text in (_WHOLE, "x"):
            for options in (
                {"fieldSelector": "metadata.name=s1"},
                {"fieldSelector": "spec.none=1"},
                {"labelSelector": "a=b"},
                {"labelSelector": "a===b"},
                {"resourceVersion": "abc"},
                {"limit": "no"},
                {"continue": "!"},
                {"resourceVersionMatch": "Exact"},
                {"watch": "1", "timeoutSeconds": "1", "resourceVersion": "abc"},
                streams,
            ):
                told = " ".join(f"{name}={value}" for name, value in options.items())
                yield f"{told} with {text}", self._get(_SECRETS, shards=text, **options)

    def _pages(self) -> Iterator[tuple[str, Any]]:
        low = shard_selector(NAMESPACE, [(_hash(name), _hash(name) + 1) for name in _NAMESPACES[1::2]])
        for name, text in (("all", _WHOLE), ("odd", low), ("unsharded", "")):
            for limit in (1, 2, 4):
                first = self._ask(_request("GET", _SECRETS, limit=str(limit), shards=text)).body
                yield f"page of {limit}, {name}", self._shown(first)
                token = first["metadata"].get("continue", "")
                for other, second in (("all", _WHOLE), ("odd", low), ("bad", "x")):
                    if token:
                        rest = {"continue": token, "limit": str(limit), "shards": second}
                        yield f"page of {limit}, {name}, then {other}", self._get(_SECRETS, **rest)
        yield "limit at any version", self._get(_SECRETS, shards=low, limit="2", resourceVersion="0")

    def _watches(self) -> Iterator[tuple[str, Any]]:
        folder = "/api/v1/namespaces/shards-0/configmaps"
        uids = {name: self._post(folder, {"metadata": {"name": name}})["metadata"]["uid"] for name in "abc"}
        start = self._ask(_request("GET", folder)).body["metadata"]["resourceVersion"]
        self._ask(_request("PATCH", f"{folder}/a", body={"metadata": {"labels": {"l": "1"}}}))
        self._ask(_request("PATCH", f"{folder}/b", body={"metadata": {"labels": {"l": "1"}}}))
        self._ask(_request("DELETE", f"{folder}/a"))
        new = self._post(folder, {"metadata": {"name": "a", "labels": {"l": "1"}}})["metadata"]["uid"]
        self._ask(_request("PATCH", f"{folder}/a", body={"metadata": {"labels": {"l": "2"}}}))
        self._ask(_request("PATCH", f"{folder}/b", body={"metadata": {"labels": {"l": "2"}}}))
        self._ask(_request("DELETE", f"{folder}/c"))
        marked = {"old a": uids["a"], "new a": new, "b": uids["b"], "c": uids["c"]}
        for name, uid in marked.items():
            self._told[f"0x{_hash(uid):016x}"], self._told[f"0x{_hash(uid) + 1:016x}"] = f"<{name}>", f"<after {name}>"
        for names in (("old a",), ("new a",), ("b",), ("c",), ("old a", "b"), ("old a", "new a", "b", "c")):
            text = shard_selector(UID, [(_hash(marked[name]), _hash(marked[name]) + 1) for name in names])
            told = " and ".join(names)
            yield f"list of {told}", self._get(folder, shards=text)
            since = {"watch": "1", "timeoutSeconds": "1", "resourceVersion": start, "shards": text}
            yield f"watch of {told}", self._get(folder, **since)
            yield f"watch of {told}, labelled", self._get(folder, labelSelector="l=1", **since)
            initial = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
            streamed = {"watch": "1", "timeoutSeconds": "1", "shards": text, "allowWatchBookmarks": "true", **initial}
            yield f"stream of {told}", self._get(folder, **streamed)

    def _deletions(self) -> Iterator[tuple[str, Any]]:
        folder = "/api/v1/namespaces/shards-2/configmaps"
        for name in "ab":
            self._post(folder, {"metadata": {"name": name}})
        uid = self._ask(_request("GET", f"{folder}/a")).body["metadata"]["uid"]
        self._told[f"0x{_hash(uid):016x}"], self._told[f"0x{_hash(uid) + 1:016x}"] = "<a>", "<after a>"
        for name, text in (("bad", "x"), ("one", shard_selector(UID, [(_hash(uid), _hash(uid) + 1)]))):
            answer = self._ask(_request("DELETE", folder, shards=text))
            yield f"delete {name}", self._shown(answer.body, answer.status)
            yield f"left after {name}", self._get(folder)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._ask(_request("POST", path, body=body)).body

    def _get(self, path: str, accept: str = "application/json", **query: str) -> Any:
        answer = self._ask(_request("GET", path, accept, **query))
        return self._shown(answer.body, answer.status)

    def _shown(self, body: Any, status: int = 200) -> Any:
        text = json.dumps({"status": status, "body": _alike(body)})
        for own, told in self._told.items():
            text = text.replace(own, told)
        return json.loads(text)


def recorded() -> dict[str, Any]:
    """Return the recorded answers of the real server, by the name of their request."""
    found: dict[str, Any] = json.loads(RECORDING.read_text(encoding="utf-8"))
    return found


def _request(
    method: str, path: str, accept: str = "application/json", body: Any = None, shards: str = "", **query: str
) -> HTTPRequest:
    content = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"accept": accept} | ({"content-type": content} if body is not None else {})
    pairs = (*query.items(), *([("shardSelector", shards)] if shards else []))
    return HTTPRequest(method, path, pairs, headers, b"" if body is None else json.dumps(body).encode())


def _hash(text: str) -> int:
    return fnv1a64(text)


def _alike(body: Any) -> Any:
    """Return the part of an answer that does not differ from run to run."""
    if isinstance(body, list):
        return [[event["type"], _alike(event["object"])] for event in body]
    if not isinstance(body, dict):
        return str(body)
    if body.get("kind") == "Status":
        return {name: body.get(name) for name in ("code", "reason", "message")}
    metadata = dict(body["metadata"])
    shown: dict[str, Any] = {"kind": body["kind"]}
    for name in ("name", "labels", "annotations", "remainingItemCount", "shardInfo"):
        if name in metadata:
            shown[name] = metadata[name]
    shown["continue"] = bool(metadata.get("continue"))
    if "items" in body:
        shown["items"] = [item["metadata"]["name"] for item in body["items"] or ()]
    if "rows" in body:
        shown["rows"] = [row["object"]["metadata"]["name"] for row in body["rows"] or ()]
    return shown


def _json(answer: Any) -> Any:
    return json.loads(json.dumps(answer))


def main() -> None:
    """Record the run of the server of a kubeconfig."""
    with cluster(Path(sys.argv[1])) as ask:
        found = Play(ask).run()
    RECORDING.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
