# SPDX-License-Identifier: Apache-2.0
"""Decides by roles and their bindings which user may make which request."""
