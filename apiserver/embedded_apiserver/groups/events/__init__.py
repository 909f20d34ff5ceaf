# SPDX-License-Identifier: Apache-2.0
"""Events, in both of their groups."""
