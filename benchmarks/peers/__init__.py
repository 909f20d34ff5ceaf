# SPDX-License-Identifier: Apache-2.0
"""The programs that are measured; each runs as a process of its own and prints one JSON object."""
