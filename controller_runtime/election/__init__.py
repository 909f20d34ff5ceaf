# SPDX-License-Identifier: Apache-2.0
"""One leader among replicas: a lease on the API server, and leadership as a deadline."""
