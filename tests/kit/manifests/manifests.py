# SPDX-License-Identifier: Apache-2.0
"""Helpers that tests of manifests share."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
Right = tuple[str, str, str]
"""The API group, the resource and the verb."""
