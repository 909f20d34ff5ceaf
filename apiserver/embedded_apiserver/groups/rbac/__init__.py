# SPDX-License-Identifier: Apache-2.0
"""Roles and their bindings."""
