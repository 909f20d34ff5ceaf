# SPDX-License-Identifier: Apache-2.0
"""The options of writes: query parameters, and the body of a deletion."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import attrs

from controller_runtime.client.bodies import without_nones

Query = tuple[tuple[str, str], ...]


class FieldValidation(enum.Enum):
    """The server's treatment of fields that the schema does not have, and of fields that occur twice."""

    STRICT = "Strict"
    """The server refuses the write."""
    WARN = "Warn"
    """The server drops the fields and sends a warning: its default."""
    IGNORE = "Ignore"
    """The server drops the fields."""


@attrs.frozen
class WriteOptions:
    """The options that a client sends with each write.

    Attributes:
        field_manager: The owner of the fields that are written; None for the user agent up to its first slash.
        field_validation: How the server treats unknown fields; None for the server's default.
        dry_run: True to have the server check and answer the write without storing it.
    """

    field_manager: str | None = None
    field_validation: FieldValidation | None = None
    dry_run: bool = False

    def query(self, **more: str) -> Query:
        """Return the query parameters of a create, update or patch. Those in `more` take precedence."""
        validation = self.field_validation.value if self.field_validation else None
        own = {"fieldManager": self.field_manager, "fieldValidation": validation, "dryRun": self._dry_run}
        return tuple((name, value) for name, value in {**own, **more}.items() if value is not None)

    def deletion(
        self,
        grace_period_seconds: int | None,
        propagation_policy: str | None,
        preconditions: Mapping[str, str | None] | None = None,
    ) -> object:
        """Return the body of a DELETE request; None if no option is set.

        Args:
            grace_period_seconds: Seconds until a pod is killed; None for its own grace period.
            propagation_policy: `Background`, `Foreground` or `Orphan`; None for the kind's default.
            preconditions: The uid and resourceVersion that the object must have; None values are left out.
        """
        fields = without_nones(
            preconditions=without_nones(**preconditions or {}) or None,
            gracePeriodSeconds=grace_period_seconds,
            propagationPolicy=propagation_policy,
            dryRun=[self._dry_run] if self.dry_run else None,
        )
        return {"kind": "DeleteOptions", "apiVersion": "v1", **fields} if fields else None

    @property
    def _dry_run(self) -> str | None:
        return "All" if self.dry_run else None
