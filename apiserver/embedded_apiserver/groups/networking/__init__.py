# SPDX-License-Identifier: Apache-2.0
"""Ingresses, policies, slices of endpoints, and ranges of addresses."""
