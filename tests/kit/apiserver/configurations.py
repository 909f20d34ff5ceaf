# SPDX-License-Identifier: Apache-2.0
"""Configurations of pods for laws: every kind of list and map, and few enough names to collide."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.typed.fieldset import Fields
from embedded_apiserver.typed.fieldtree import fields_of

NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["x", "y"])


def _named(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    element = st.fixed_dictionaries({"name": NAMES}, optional=fields)
    return st.lists(element, min_size=1, max_size=3, unique_by=lambda one: one["name"])


METADATA = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(NAMES, TEXTS, min_size=1),
        "finalizers": st.lists(NAMES, min_size=1, unique=True),
        "generateName": TEXTS,
    },
)
SPEC = st.fixed_dictionaries(
    {},
    optional={
        "nodeName": TEXTS,
        "securityContext": st.fixed_dictionaries({}, optional={"runAsUser": st.integers(0, 1)}),
        "tolerations": st.lists(st.fixed_dictionaries({"key": NAMES}), max_size=2),  # atomic
        "containers": _named({"image": TEXTS, "env": _named({"value": TEXTS})}),
    },
)
CONFIGURATIONS = st.fixed_dictionaries({"metadata": METADATA}, optional={"spec": SPEC})


def said(config: dict[str, Any]) -> Fields:
    """Return the fields that a configuration contains."""
    return frozenset(fields_of(POD.schema, config)) - {("f:metadata",)}
