# SPDX-License-Identifier: Apache-2.0
"""Notices silent nodes, marks and taints them, zone by zone."""
