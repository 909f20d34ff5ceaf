# SPDX-License-Identifier: Apache-2.0
"""The steps of admission that call webhooks."""
