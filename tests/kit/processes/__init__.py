# SPDX-License-Identifier: Apache-2.0
"""Programs that tests start as processes, and what starts them."""
