# SPDX-License-Identifier: Apache-2.0
"""An index of pods by the node they are bound to, shared by all controllers of a manager."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

import msgspec

from apimachinery.errors import UNREADABLE
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.api.resources import PODS
from controller_runtime.manager.manager import Manager

INDEX = "spec.nodeName"
"""Name of the index, for `Lister.by_index`: the field that the API server's field selector has for it."""


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct, gc=False):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_pod = msgspec.json.Decoder(_Pod)


def _node_of(pod: Cached) -> tuple[str, ...]:
    try:
        name = _pod.decode(pod.raw).spec.node_name
    except UNREADABLE:  # an index must not raise; a lister that reads the pod raises or logs it
        return ()
    return (name,) if name else ()


def pods_by_node(manager: Manager) -> Callable[[str], Iterable[ObjectKey]]:
    """Return a function that maps a node's name to the keys of the pods that are bound to it.

    May be called by several controllers of one manager: the first call adds the index.
    """
    informer = manager.informer(PODS)
    with contextlib.suppress(ValueError):  # another controller has added the index
        informer.add_index(INDEX, _node_of)
    return lambda node: [pod.key for pod in informer.store.by_index(INDEX, node)]
