# SPDX-License-Identifier: Apache-2.0
"""Controllers that delete leases and lease candidates whose owners stopped renewing them."""
