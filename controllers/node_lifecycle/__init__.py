# SPDX-License-Identifier: Apache-2.0
"""Marks nodes that have fallen silent, and their pods, and taints the nodes at the pace of their zone."""
