# SPDX-License-Identifier: Apache-2.0
"""The choices for a random request, with weights: verbs of each profile, headers, parameters, metadata."""

from __future__ import annotations

from typing import Any

ACCEPTS = (
    *(
        ("", 83),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", 6),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", 4),
    ),
    *(
        ("application/yaml", 2),
        ("text/html", 1),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", 1),
        ("application/json;q=0.5,application/yaml", 1),
    ),
    *(("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", 1), ("*/*", 1)),
)
QUERIES = (
    *(("", 82), ("dryRun=All", 5), ("dryRun=", 1), ("dryRun=Bad", 1), ("fieldManager=m", 4), ("fieldManager=a%09b", 1)),
    *(("fieldValidation=Strict", 3), ("fieldValidation=Ignore", 1), ("fieldValidation=Bad", 1), ("pretty=true", 1)),
)
VERBS = {
    "core": (
        ("create", 26),
        ("get", 8),
        ("list", 12),
        ("update", 12),
        ("patch", 14),
        ("apply", 8),
        ("delete", 8),
        ("deletecollection", 2),
        ("watch", 3),
        ("status", 4),
        ("special", 3),
        ("wrong", 2),
    ),
    "deep": (("create", 40), ("get", 4), ("update", 22), ("patch", 12), ("apply", 12), ("delete", 8), ("status", 4)),
    "ssa": (
        ("create", 10),
        ("get", 5),
        ("list", 3),
        ("update", 10),
        ("patch", 10),
        ("apply", 48),
        ("delete", 4),
        ("status", 8),
        ("special", 2),
    ),
    "watch": (
        ("create", 20),
        ("get", 4),
        ("list", 22),
        ("update", 10),
        ("patch", 12),
        ("delete", 9),
        ("deletecollection", 3),
        ("watch", 18),
        ("status", 2),
    ),
    "wide": (
        ("create", 24),
        ("get", 6),
        ("list", 14),
        ("update", 8),
        ("patch", 10),
        ("apply", 12),
        ("delete", 5),
        ("deletecollection", 3),
        ("watch", 6),
        ("status", 3),
        ("special", 10),
    ),
    "crd": (
        ("create", 28),
        ("get", 6),
        ("list", 10),
        ("update", 14),
        ("patch", 16),
        ("apply", 12),
        ("delete", 5),
        ("watch", 3),
        ("status", 4),
        ("special", 4),
        ("wrong", 2),
    ),
}
LABELS = ({"app": "a"}, {"app": "b"}, {}, {"app": "a", "tier": "x"}, {"a b": "c"}, {"app": "-x"})
METADATA: tuple[tuple[str, Any], ...] = (
    ("finalizers", ["example.com/f"]),
    ("finalizers", ["bad"]),
    ("annotations", {"a": "b"}),
    ("annotations", {"a b": "c"}),
    ("generateName", "gen-"),
    ("resourceVersion", "1"),
    ("resourceVersion", "0"),
    ("uid", "{uid}"),
    ("uid", "00000000-0000-0000-0000-000000000001"),
    ("name", "A_b"),
    ("name", ""),
    ("namespace", "other"),
    ("generation", 7),
    ("creationTimestamp", "2001-02-03T04:05:06Z"),
    ("deletionGracePeriodSeconds", 5),
    ("ownerReferences", [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}]),
    (
        "ownerReferences",
        [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "a",
                "uid": "u",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    ),
    ("labels", {"a b": "c"}),
    ("labels", {"app": "b"}),
    ("labels", None),
    ("managedFields", []),
    ("selfLink", "/x"),
)
DELETE_OPTIONS: tuple[tuple[Any, int], ...] = (
    (None, 60),
    ({"propagationPolicy": "Foreground"}, 6),
    ({"propagationPolicy": "Orphan"}, 5),
    ({"propagationPolicy": "Bad"}, 1),
    ({"gracePeriodSeconds": 0}, 8),
    ({"gracePeriodSeconds": 5}, 4),
    ({"preconditions": {"uid": "{uid}"}}, 4),
    ({"preconditions": {"uid": "x"}}, 2),
    ({"preconditions": {"resourceVersion": "{rv}"}}, 3),
    ({"dryRun": ["All"]}, 2),
    ({"orphanDependents": True}, 1),
    ("null", 1),
    ({"kind": "Pod", "apiVersion": "v1"}, 1),
)
