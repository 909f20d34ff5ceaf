# SPDX-License-Identifier: Apache-2.0
"""Refuses the calls of a process to the world outside: connections that are not the library's own, and processes."""
