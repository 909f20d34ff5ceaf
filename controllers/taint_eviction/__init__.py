# SPDX-License-Identifier: Apache-2.0
"""Deletes the pods that do not tolerate the NoExecute taints of their node."""
