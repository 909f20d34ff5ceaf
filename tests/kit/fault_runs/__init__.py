# SPDX-License-Identifier: Apache-2.0
"""Simulated systems under faults: replicas or caches, an API server and a user, with the invariants that must hold."""
