# SPDX-License-Identifier: Apache-2.0
"""Runs a recorded reconcile again, with the present code, in virtual time: what it read is read again."""
