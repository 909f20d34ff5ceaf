# SPDX-License-Identifier: Apache-2.0
"""Which programs compare their caches with the server."""

from __future__ import annotations

from controller_runtime.manager.manager import Manager


def choose_audit(manager: Manager, *, embedded: bool, asked: bool) -> None:
    """Audit the caches of a manager on a cluster, unless `setup` has said how, or `--no-audit-caches` was given."""
    if asked and not embedded and not manager.caches.is_audited:
        manager.audit_caches()
