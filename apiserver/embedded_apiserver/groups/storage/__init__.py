# SPDX-License-Identifier: Apache-2.0
"""Volumes, and the classes and drivers that make them."""
