# SPDX-License-Identifier: Apache-2.0
"""The controllers by name, and the selection of those that `--controllers` asks for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from apimachinery.errors import UsageError
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controllers.election.lease_candidate_election import lease_candidate_election
from controllers.expiry.apiserver_lease_gc import apiserver_lease_gc
from controllers.expiry.lease_candidate_gc import lease_candidate_gc
from controllers.node_lifecycle.node_lifecycle import node_lifecycle
from controllers.node_ttl import node_ttl
from controllers.taint_eviction.taint_eviction import taint_eviction

Constructor = Callable[..., Controller]
"""Makes a controller for a manager; takes `workers` as a keyword, and some take `config`."""

CATALOG: Mapping[str, Constructor] = {
    "node-ttl": node_ttl,
    "apiserver-lease-gc": apiserver_lease_gc,
    "node-lifecycle": node_lifecycle,
    "taint-eviction": taint_eviction,
    "lease-candidate-election": lease_candidate_election,
    "lease-candidate-gc": lease_candidate_gc,
}
"""Every controller that `controllers run` can run. A new controller is registered by adding a line here."""

NAMED_ON_CLUSTERS: frozenset[str] = frozenset({"node-lifecycle", "taint-eviction"})
"""Controllers that delete pods. On a cluster `*` leaves them out, so that they run only if they are named."""

NEVER_IN_ALL: frozenset[str] = frozenset({"lease-candidate-election", "lease-candidate-gc"})
"""Controllers that `*` always leaves out, because API servers run them; they run only if they are named."""


NEEDS_THE_WHOLE: Mapping[str, str] = MappingProxyType(
    {
        "node-lifecycle": "how many nodes of a zone are silent decides about each of them",
        "taint-eviction": "the pods of one node share a bound of workers",
        "lease-candidate-election": "all candidates of a lease are compared",
        "apiserver-lease-gc": "it is idle nearly always, so there is nothing to share",
        "lease-candidate-gc": "it is idle nearly always, so there is nothing to share",
    }
)
"""Why `--ring` shares the work of a controller with no other replica."""


def select_controllers(asked: str, *, embedded: bool) -> list[str]:
    """Return the controllers that `asked` selects, without duplicates, in the given order.

    Args:
        asked: Comma-separated names, such as `node-ttl`; `*` stands for all except those that must be named.
        embedded: True on the embedded server, where `*` may include the controllers that delete pods.

    Raises:
        UsageError: A name is not in the catalog, or no name is given.
    """
    names: dict[str, None] = {}
    for name in (part.strip() for part in asked.split(",")):
        if name == "*":
            names |= dict.fromkeys(
                n for n in CATALOG if n not in NEVER_IN_ALL and (embedded or n not in NAMED_ON_CLUSTERS)
            )
        elif name in CATALOG:
            names[name] = None
        elif name:
            near = difflib.get_close_matches(name, CATALOG, n=1)
            hint = f"did you mean {near[0]!r}" if near else f"there are: {', '.join(CATALOG)}, or * for all"
            raise UsageError(f"no controller is named {name!r}: {hint}")
    if not names:
        raise UsageError(f"--controllers names nothing: give one or more of {', '.join(CATALOG)}, or * for all")
    return list(names)


def build(
    manager: Manager, names: list[str], *, workers: int | None, configs: Mapping[str, object] = MappingProxyType({})
) -> list[Controller]:
    """Make the named controllers for `manager`, and return them.

    Args:
        manager: The manager that will run them. They are not added to it here.
        names: Keys of `CATALOG`.
        workers: The number of workers of each controller; None for the default of each.
        configs: Configurations by controller name, for controllers with a parameter `config`.
    """
    options = {} if workers is None else {"workers": workers}
    return [
        CATALOG[name](manager, **options, **({"config": configs[name]} if name in configs else {})) for name in names
    ]
