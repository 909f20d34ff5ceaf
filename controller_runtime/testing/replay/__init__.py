# SPDX-License-Identifier: Apache-2.0
"""Runs a recorded reconcile again, with the present code, in virtual time; its reads are answered from the record."""
