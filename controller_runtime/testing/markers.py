# SPDX-License-Identifier: Apache-2.0
"""The names of the markers of the pytest plugin."""

from __future__ import annotations

EMBEDDED_CLUSTER = "embedded_cluster"
"""The marker that passes options to the clusters of the fixtures."""

RIGHTS = "rights"
"""The marker that names the program of a test's managers, for the options `--rbac-record` and `--rbac-check`."""
