# SPDX-License-Identifier: Apache-2.0
"""Nodes without machines, thousands in one process, that can be killed and revived."""
