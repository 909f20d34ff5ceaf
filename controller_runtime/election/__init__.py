# SPDX-License-Identifier: Apache-2.0
"""Leader election: one leader among replicas, by a lease on the API server; leadership is a deadline."""
