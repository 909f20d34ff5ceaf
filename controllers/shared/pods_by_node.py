# SPDX-License-Identifier: Apache-2.0
"""Pods by the node they are bound to: one index over the one cache of pods, for all who ask."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

import msgspec

from controller_runtime.api.objects import Cached, ObjectKey
from controller_runtime.api.resources import PODS
from controller_runtime.core.errors import UNREADABLE
from controller_runtime.manager.manager import Manager

INDEX = "spec.nodeName"
"""The index' name, as a field selector of the API server's calls it; for `Lister.by_index` too."""


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct, gc=False):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_pod = msgspec.json.Decoder(_Pod)


def _node_of(pod: Cached) -> tuple[str, ...]:
    try:
        name = _pod.decode(pod.raw).spec.node_name
    except UNREADABLE:  # an index may not raise; whoever reads the pod hears of it
        return ()
    return (name,) if name else ()


def pods_by_node(manager: Manager) -> Callable[[str], Iterable[ObjectKey]]:
    """The names of the pods that are bound to a node, as a function of its name.

    May be asked for several times; the pods are indexed once.
    """
    informer = manager.informer(PODS)
    with contextlib.suppress(ValueError):  # somebody else asked first
        informer.add_index(INDEX, _node_of)
    return lambda node: [pod.key for pod in informer.store.by_index(INDEX, node)]
