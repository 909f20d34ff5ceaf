# SPDX-License-Identifier: Apache-2.0
"""Leases, and candidates for them."""
