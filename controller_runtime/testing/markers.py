# SPDX-License-Identifier: Apache-2.0
"""The names of the markers of the pytest plugin."""

from __future__ import annotations

EMBEDDED_CLUSTER = "embedded_cluster"
"""Passes options to the clusters of the fixtures."""

RIGHTS = "rights"
"""Names the program of a test's managers, for the options `--rbac-record` and `--rbac-check`."""
