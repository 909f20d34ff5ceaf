# SPDX-License-Identifier: Apache-2.0
"""The status of policies: which generation of their expressions was checked for types, and what it was warned of."""

from __future__ import annotations

from collections.abc import Callable

from embedded_apiserver.groups.registration.kinds import VALIDATING_POLICY
from embedded_apiserver.kinds.kind import Kinds
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.upkeep.internal_client import InternalClient
from embedded_apiserver.upkeep.ownership import Item

USER_AGENT = "validatingadmissionpolicy-status"


class PolicyChecker:
    """Writes the status of ValidatingAdmissionPolicies, with the warnings of type checks.

    It is used in the same way as `garbage.GarbageCollector`.

    Args:
        storage: The objects, including the policies.
        kinds: A function that returns the currently served kinds.
        client: Sends the writes.

    Attributes:
        due: The policies to check.

    Threads: one.
    """

    def __init__(self, storage: Storage, kinds: Callable[[], Kinds], client: InternalClient) -> None:
        self._storage = storage
        self._kinds = kinds
        self._client = client
        self.due: dict[Item, None] = {}

    def see(self, item: Item, old: Stored | None, new: Stored | None) -> None:
        """Record a change of a policy, so that it will be checked."""
        if item.kind == VALIDATING_POLICY and new is not None:
            self.due[item] = None

    def look(self, item: Item) -> bool:
        """Write the status of a policy whose current generation has not been checked; return False if that must be
        tried again.
        """
        found = self._storage.get(item.kind.resource, item.key)
        if found is None:
            return True
        policy = found.decode()
        generation = policy["metadata"].get("generation", 0)
        if generation <= (policy.get("status") or {}).get("observedGeneration", 0):
            return True
        # Imported here, because most servers have no policies, and expressions are a large part of the server.
        from embedded_apiserver.upkeep.type_checks import expression_warnings

        warnings = expression_warnings(policy, self._kinds())
        checked = {"expressionWarnings": warnings} if warnings else {}
        status = {"observedGeneration": generation, "typeChecking": checked}
        return self._client.apply_status(item, status, USER_AGENT)
