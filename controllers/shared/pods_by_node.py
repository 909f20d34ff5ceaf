# SPDX-License-Identifier: Apache-2.0
"""An index of pods by the node they are bound to, shared by all controllers of a manager."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

from apimachinery.objects import Cached, ObjectKey
from controller_runtime.api.resources import PODS
from controller_runtime.manager.manager import Manager
from controllers.shared.views import node_of

INDEX = "spec.nodeName"
"""Name of the index, for `Lister.by_index`: the field that the API server's field selector has for it."""


def _index(pod: Cached) -> tuple[str, ...]:
    name = node_of(pod)  # empty for a pod that cannot be read, since an index must not raise
    return (name,) if name else ()


def pods_by_node(manager: Manager) -> Callable[[str], Iterable[ObjectKey]]:
    """Return a function that maps a node's name to the keys of the pods that are bound to it.

    Several controllers of one manager may call it: the first call adds the index.
    """
    informer = manager.informer(PODS)
    with contextlib.suppress(ValueError):  # another controller has added the index
        informer.add_index(INDEX, _index)
    return lambda node: [pod.key for pod in informer.store.by_index(INDEX, node)]
