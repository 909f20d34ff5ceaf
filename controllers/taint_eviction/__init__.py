# SPDX-License-Identifier: Apache-2.0
"""Deletes the pods that do not bear the taints of their node."""
