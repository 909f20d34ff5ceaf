# SPDX-License-Identifier: Apache-2.0
"""Finds out which user makes a request: by bearer token, and by impersonation."""
