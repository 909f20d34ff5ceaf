# SPDX-License-Identifier: Apache-2.0
"""Decides whether a program compares its caches with the server."""

from __future__ import annotations

from controller_runtime.manager.manager import Manager


def choose_audit(manager: Manager, *, embedded: bool, asked: bool) -> None:
    """Audit the caches of a manager on a cluster, unless `setup` or `--no-audit-caches` has decided that."""
    if asked and not embedded and not manager.caches.is_audited:
        manager.audit_caches()
