# SPDX-License-Identifier: Apache-2.0
"""Requests for certificates."""
