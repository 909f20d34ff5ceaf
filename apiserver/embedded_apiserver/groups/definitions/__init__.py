# SPDX-License-Identifier: Apache-2.0
"""Custom resource definitions."""
