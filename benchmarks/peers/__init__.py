# SPDX-License-Identifier: Apache-2.0
"""One program for each thing measured, each a process of its own; each prints one JSON object."""
