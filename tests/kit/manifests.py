# SPDX-License-Identifier: Apache-2.0
"""What tests of manifests share."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Right = tuple[str, str, str]
"""API group, resource, verb."""
