# SPDX-License-Identifier: Apache-2.0
"""The lease on the API server: read, created and updated as a dict, so that unknown fields are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apimachinery.errors import NotFound, UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.election.record import LeaseRecord


class LeaseLock:
    """One Lease, with the resourceVersion at which it was last read or written.

    Every update carries that version, so that it fails if another client wrote first. Fields and labels of other
    clients are kept.

    Args:
        client: Sends the requests.
        key: The key of the Lease.
        labels: Labels to add to the Lease.

    Attributes:
        key: As given.

    Threads: one.
    """

    def __init__(self, client: Client, key: ObjectKey, labels: Mapping[str, str]) -> None:
        self._client = client
        self.key = key
        self._labels = labels
        self._decode = decoder_for(dict, LEASES)
        self._lease: dict[str, Any] | None = None

    def __str__(self) -> str:
        return str(self.key)

    def read(self, deadline: float) -> LeaseRecord:
        """Read the lease, and return its record.

        Args:
            deadline: Absolute monotonic seconds by which the request must be over.

        Raises:
            NotFound: There is no lease.
        """
        try:
            self._lease = self._client.until(deadline).get(LEASES, self.key, dict)
        except NotFound:
            self._lease = None
            raise
        return LeaseRecord.of(self._lease)

    def create(self, record: LeaseRecord, deadline: float) -> None:
        """Create the lease.

        Args:
            record: The record to write.
            deadline: Absolute monotonic seconds by which the request must be over.

        Raises:
            AlreadyExists: The lease exists.
        """
        self._lease = self._decode(self._client.until(deadline).create(LEASES, self._with(record, {})).raw)

    def update(self, record: LeaseRecord, deadline: float) -> None:
        """Update the lease that was last read or written.

        Args:
            record: The record to write.
            deadline: Absolute monotonic seconds by which the request must be over.

        Raises:
            Conflict: Another client has written the lease since then.
            NotFound: The lease has been deleted since then.
            UsageError: The lease has been neither read nor created.
        """
        if self._lease is None:
            raise UsageError(f"lease {self} cannot be updated before it is read or created")
        self._lease = self._decode(self._client.until(deadline).update(LEASES, self._with(record, self._lease)).raw)

    def _with(self, record: LeaseRecord, lease: Mapping[str, Any]) -> dict[str, Any]:
        metadata = {**(lease.get("metadata") or {}), "name": self.key.name, "namespace": self.key.namespace}
        if self._labels:
            metadata["labels"] = {**(metadata.get("labels") or {}), **self._labels}
        return {**lease, "metadata": metadata, "spec": {**(lease.get("spec") or {}), **record.spec()}}
