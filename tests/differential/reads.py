# SPDX-License-Identifier: Apache-2.0
"""Random lists, watches, and requests that no client means."""

from __future__ import annotations

from random import Random
from urllib.parse import quote

from differential.operations import Operation
from differential.samples import Sample

SELECTORS = (
    "app=a",
    "app!=a",
    "app in (a,b)",
    "app",
    "!app",
    "tier=x",
    "app=a,tier",
    "a b=c",
    "app in (",
    "-x=y",
    "app>1",
)
FIELDS = (
    "metadata.name=a",
    "metadata.name!=a",
    "metadata.namespace={ns}",
    "=",
    "spec.nodeName=n",
    "status.phase=Running",
    "type=Opaque",
    "nope=1",
    "metadata.name==a",
    "a=b=c",
)


def listed(random: Random, sample: Sample) -> str:
    """Return the target of a list."""
    parts = []
    if not sample.namespaced:
        parts.append(
            "labelSelector=" + quote(random.choice(("run={ns}", "run={ns},app=a", "run={ns},app!=a")), safe="{}")
        )
    elif random.random() < 0.3:
        parts.append("labelSelector=" + quote(random.choice(SELECTORS), safe="{}"))
    if random.random() < 0.15:
        parts.append("fieldSelector=" + quote(random.choice(FIELDS), safe="{}"))
    if random.random() < 0.25:
        parts.append(f"limit={random.choice(('1', '2', '500', '0', '-1', 'x'))}")
        if random.random() < 0.4:
            parts.append(f"continue={random.choice(('{continue}', '{continue}', '{continue}', 'nope!'))}")
    if random.random() < 0.15:
        parts.append(f"resourceVersion={random.choice(('0', '{start}', '9000000000000000000', 'abc', '1'))}")
        if random.random() < 0.5:
            parts.append(f"resourceVersionMatch={random.choice(('Exact', 'NotOlderThan', 'Bad'))}")
    return "?".join(filter(None, (sample.collection, "&".join(parts))))


def watched(random: Random, sample: Sample) -> str:
    """Return the target of a watch, which has an end and begins where both servers agree."""
    own = () if sample.namespaced else (quote("labelSelector=run={ns}", safe="{}="),)
    parts = [
        *own,
        "watch=1",
        "timeoutSeconds=5",
        f"resourceVersion={random.choice(('{start}', '{start}', '{start}', '0', 'abc', '9000000000000000000'))}",
    ]
    if sample.namespaced and random.random() < 0.3:
        parts.append("labelSelector=" + quote(random.choice(SELECTORS), safe="{}"))
    if random.random() < 0.2:
        parts.append("fieldSelector=" + quote(random.choice(FIELDS), safe="{}"))
    if random.random() < 0.1:
        parts.append(
            random.choice(
                (
                    "allowWatchBookmarks=true",
                    "sendInitialEvents=true",
                    "resourceVersionMatch=NotOlderThan&sendInitialEvents=true&allowWatchBookmarks=true",
                )
            )
        )
    return f"{sample.collection}?{'&'.join(parts)}"


def wrong(random: Random, sample: Sample, item: str) -> Operation:
    """Return a request that no client means."""
    method, target, body = random.choice(
        (
            ("PUT", sample.collection, {}),
            ("POST", item, {}),
            ("GET", f"{item}/nope", None),
            ("PATCH", sample.collection, {}),
            ("OPTIONS", item, None),
            ("HEAD", item, None),
            ("GET", f"{sample.collection}/..%2f", None),
            ("DELETE", f"{item}/nope", None),
            ("POST", sample.collection, "{"),
            ("POST", sample.collection, "[]"),
            ("POST", sample.collection, ""),
            ("PUT", item, "null"),
            ("GET", f"{item}/", None),
            ("TRACE", item, None),
            ("POST", f"{sample.collection}?timeout=1x", {}),
            ("GET", f"{item}?timeout=1x", None),
            ("GET", f"{item}?timeout=1ns", None),
            ("POST", sample.collection, "null"),
        )
    )
    return Operation(method=method, target=target, body=body)
