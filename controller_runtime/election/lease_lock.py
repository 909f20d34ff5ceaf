# SPDX-License-Identifier: Apache-2.0
"""The lease itself: read, made and written whole, as a dict, so that nothing in it is dropped unasked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_runtime.api.codec import decoder_for
from controller_runtime.api.objects import ObjectKey
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.core.errors import ConnectionLost, NotFound, UsageError
from controller_runtime.core.host import Host
from controller_runtime.election.record import LeaseRecord


class LeaseLock:
    """One Lease, with the version it was last exchanged at.

    Every write carries that version, so it fails if anybody wrote in between; what others
    put on the object stays.

    Args:
        host: Its clock bounds the requests.
        client: Reaches the API server.
        request: The Lease's name and namespace.
        labels: Put on it, beside those it has.

    Threads: one.
    """

    def __init__(self, host: Host, client: Client, key: ObjectKey, labels: Mapping[str, str]) -> None:
        self._host = host
        self._client = client
        self._request = key
        self._labels = labels
        self._decode = decoder_for(dict, LEASES)
        self._lease: dict[str, Any] | None = None

    def __str__(self) -> str:
        return str(self._request)

    def read(self, deadline: float) -> LeaseRecord:
        """What the lease says now.

        Args:
            deadline: Absolute monotonic seconds, for the request.

        Raises:
            NotFound: There is no lease.
        """
        client = self._client_until(deadline)
        try:
            self._lease = client.get(LEASES, self._request, dict)
        except NotFound:
            self._lease = None
            raise
        return LeaseRecord.of(self._lease)

    def create(self, record: LeaseRecord, deadline: float) -> None:
        """Make the lease.

        Args:
            record: What it will say.
            deadline: As for `read`.

        Raises:
            AlreadyExists: There is one.
        """
        self._lease = self._decode(self._client_until(deadline).create(LEASES, self._with(record, {})).raw)

    def update(self, record: LeaseRecord, deadline: float) -> None:
        """Write the lease that was last read or written.

        Args:
            record: What it will say.
            deadline: As for `read`.

        Raises:
            Conflict: Somebody wrote it since.
            NotFound: Somebody deleted it since.
            UsageError: It has been neither read nor made.
        """
        if self._lease is None:
            raise UsageError(f"lease {self} cannot be written before it is read or made")
        self._lease = self._decode(self._client_until(deadline).update(LEASES, self._with(record, self._lease)).raw)

    def _client_until(self, deadline: float) -> Client:
        left = deadline - self._host.monotonic()
        if left <= 0:
            raise ConnectionLost(f"lease {self}: no time left for a request")
        return self._client.within(left)

    def _with(self, record: LeaseRecord, lease: Mapping[str, Any]) -> dict[str, Any]:
        metadata = {**(lease.get("metadata") or {}), "name": self._request.name, "namespace": self._request.namespace}
        if self._labels:
            metadata["labels"] = {**(metadata.get("labels") or {}), **self._labels}
        return {**lease, "metadata": metadata, "spec": {**(lease.get("spec") or {}), **record.spec()}}
