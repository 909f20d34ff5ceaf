# SPDX-License-Identifier: Apache-2.0
"""Questions about users and what they may do; nothing of them is stored."""
