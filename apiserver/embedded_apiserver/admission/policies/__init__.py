# SPDX-License-Identifier: Apache-2.0
"""Policies of admission: expressions that judge writes, bound to writes and to parameters by bindings."""
