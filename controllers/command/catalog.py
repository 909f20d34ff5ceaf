# SPDX-License-Identifier: Apache-2.0
"""The controllers by name, and which of them a command line asks for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from controller_runtime.controller.controller import Controller
from controller_runtime.core.errors import UsageError
from controller_runtime.manager.manager import Manager
from controllers.election.lease_candidate_election import lease_candidate_election
from controllers.expiry.apiserver_lease_gc import apiserver_lease_gc
from controllers.expiry.lease_candidate_gc import lease_candidate_gc
from controllers.node_lifecycle.node_lifecycle import node_lifecycle
from controllers.node_ttl import node_ttl
from controllers.taint_eviction.taint_eviction import taint_eviction

Constructor = Callable[..., Controller]
"""Makes a controller for a manager; takes `workers` as a keyword."""

CATALOG: Mapping[str, Constructor] = {
    "node-ttl": node_ttl,
    "apiserver-lease-gc": apiserver_lease_gc,
    "node-lifecycle": node_lifecycle,
    "taint-eviction": taint_eviction,
    "lease-candidate-election": lease_candidate_election,
    "lease-candidate-gc": lease_candidate_gc,
}
"""Every controller that `controllers run` can run; adding one is a line here."""

NAMED_ONLY: frozenset[str] = frozenset({"node-lifecycle", "taint-eviction"})
"""Controllers too forceful to be part of `*` off the embedded server: they must be named."""

HOSTED: frozenset[str] = frozenset({"lease-candidate-election", "lease-candidate-gc"})
"""Controllers that API servers host: no part of `*`, but there to be named."""


def choose(asked: str, *, embedded: bool) -> list[str]:
    """The names that `asked` means: comma-separated, `*` for all.

    Args:
        asked: Such as `node-ttl` or `*`.
        embedded: Whether they run on the embedded server, where nothing can be harmed.

    Raises:
        UsageError: A name that is not in the catalog, or none at all.
    """
    names: dict[str, None] = {}
    for name in (part.strip() for part in asked.split(",")):
        if name == "*":
            names |= dict.fromkeys(n for n in CATALOG if n not in HOSTED and (embedded or n not in NAMED_ONLY))
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
    """The named controllers.

    Args:
        manager: For which.
        names: Of the catalog.
        workers: Of each; None is its own default.
        configs: For those that take a `config`, by name.
    """
    options = {} if workers is None else {"workers": workers}
    return [
        CATALOG[name](manager, **options, **({"config": configs[name]} if name in configs else {})) for name in names
    ]
