# SPDX-License-Identifier: Apache-2.0
"""Classes of priority, and of runtimes."""
