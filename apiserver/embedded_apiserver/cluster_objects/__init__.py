# SPDX-License-Identifier: Apache-2.0
"""The objects that every cluster has: its first service, an account and the authority in each namespace, priorities."""
