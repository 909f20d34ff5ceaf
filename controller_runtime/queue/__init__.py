# SPDX-License-Identifier: Apache-2.0
"""What to do next: once, later, slower."""
